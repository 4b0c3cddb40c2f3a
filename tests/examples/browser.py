#!/usr/bin/env python3
"""Opens a page in headless Chromium, and drives it over a pipe, as its DevTools do.

    browser.py PAGE SCRIPT                  runs the file SCRIPT in the page, as the body of an async
                                            function, and prints the text that it returns
    browser.py PAGE WIDTHxHEIGHT light|dark FILE.png [SCRIPT]
                                            a picture of the window, after the script

SCRIPT may await mouse(type, x, y) and key(name, modifiers). Exits with 1 after an error on the page's
console, which it shows; nothing is loaded but the page."""
import base64
import json
import os
import subprocess
import sys
import tempfile


class Browser:
    def __init__(self, folder):
        to_browser, self.to = os.pipe()
        self.back, from_browser = os.pipe()

        def wire():
            # away from 3 and 4 first, so that neither covers the other
            read, write = os.dup2(to_browser, 13), os.dup2(from_browser, 14)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            ['chromium', '--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars',
             '--remote-debugging-pipe', '--user-data-dir=' + folder, 'about:blank'],
            close_fds=False, preexec_fn=wire, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.rest, self.session, self.errors, self.loaded = 0, b'', None, [], False

    def message(self):
        while b'\0' not in self.rest:
            got = os.read(self.back, 1 << 20)
            if not got:
                sys.exit('browser.py: Chromium has ended')
            self.rest += got
        text, self.rest = self.rest.split(b'\0', 1)
        return json.loads(text)

    def happened(self, message):
        method, about = message['method'], message.get('params', {})
        if method == 'Runtime.exceptionThrown':
            self.errors.append(about['exceptionDetails'].get('exception', {}).get('description', 'exception'))
        elif method == 'Runtime.consoleAPICalled' and about['type'] in ('error', 'warning', 'assert'):
            self.errors.append(' '.join(str(each.get('value')) for each in about['args']))
        elif method == 'Log.entryAdded' and about['entry']['level'] in ('error', 'warning'):
            self.errors.append(about['entry']['text'])
        elif method == 'Network.requestWillBeSent' and not about['request']['url'].startswith(('file:', 'blob:')):
            self.errors.append('loads ' + about['request']['url'])
        elif method == 'Runtime.bindingCalled':
            self.call(*json.loads(about['payload']), wait=False)
        elif method == 'Page.loadEventFired':
            self.loaded = True

    def call(self, method, params=None, wait=True):
        self.number += 1
        number, message = self.number, {'id': self.number, 'method': method, 'params': params or {}}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.to, json.dumps(message).encode() + b'\0')
        while wait:
            answer = self.message()
            if answer.get('id') == number:
                if 'error' in answer:
                    sys.exit('browser.py: %s: %s' % (method, answer['error']['message']))
                return answer['result']
            if 'method' in answer:
                self.happened(answer)

    def open(self, page):
        target = self.call('Target.createTarget', {'url': 'about:blank'})['targetId']
        self.session = self.call('Target.attachToTarget', {'targetId': target, 'flatten': True})['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')
        self.call('Runtime.addBinding', {'name': 'devtools'})
        self.loaded = False
        self.call('Page.navigate', {'url': page})
        while not self.loaded:
            self.happened(self.message())

    def run(self, script):
        helpers = '''
            const tell = (...call) => devtools(JSON.stringify(call));
            const mouse = (type, x, y) => tell('Input.dispatchMouseEvent', { type: 'mouse' + type, x, y,
                button: 'left', buttons: 1, clickCount: 1 });
            const key = (name, modifiers = 0) => ['keyDown', 'keyUp'].forEach(type =>
                tell('Input.dispatchKeyEvent', { type, key: name, code: name, modifiers }));'''
        answer = self.call('Runtime.evaluate', {'expression': '(async () => {%s\n%s\n})()' % (helpers, script),
                                                'awaitPromise': True, 'returnByValue': True})
        if 'exceptionDetails' in answer:
            self.errors.append(answer['exceptionDetails']['exception'].get('description', 'exception'))
        return answer['result'].get('value')

    def picture(self, size, scheme, file, script):
        width, height = map(int, size.split('x'))
        self.call('Emulation.setDeviceMetricsOverride', {'width': width, 'height': height, 'deviceScaleFactor': 1,
                                                         'mobile': width < 600})
        self.call('Emulation.setEmulatedMedia', {'features': [{'name': 'prefers-color-scheme', 'value': scheme}]})
        self.run(script)
        picture = self.call('Page.captureScreenshot')
        with open(file, 'wb') as out:
            out.write(base64.b64decode(picture['data']))


def main():
    page, *rest = sys.argv[1:]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(folder)
        browser.open('file://' + os.path.abspath(page.split('#')[0]) + ''.join(page.partition('#')[1:]))
        if len(rest) == 1:
            print(browser.run(open(rest[0], encoding='utf-8').read()))
        else:
            browser.picture(*rest[:3], open(rest[3], encoding='utf-8').read() if len(rest) > 3 else '')
        browser.session = None
        browser.call('Browser.close', wait=False)
        browser.process.wait()
    for error in browser.errors:
        print('console:', error, file=sys.stderr)
    sys.exit(1 if browser.errors else 0)


main()
