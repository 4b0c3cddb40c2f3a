/* What test_page.sh asks of page.html, in the browser. A line each: what it is, a tab, and what was seen. */
const lines = [], say = (...parts) => lines.push(parts.join('\t').replace(/\s*\n\s*/g, ' '));
const until = async what => {
    for (let tries = 0; !what(); tries++) {
        if (tries === 12000) throw new Error('not within two minutes: ' + what);
        await new Promise(done => setTimeout(done, 10));
    }
};
const settled = () => until(() => typeof shownResults !== 'undefined' && shownResults && !running &&
    JSON.stringify(shownState) === JSON.stringify(state));
const check = (name, fine) => say('check', fine ? 'yes' : 'no', name);
const press = name => document.querySelector(`#chapters [data-chapter="${name}"]`).click();
const enter = (key, text) => {
    const input = document.querySelector(`[data-key="${key}"]`);
    input.value = text;
    input.dispatchEvent(new Event('input', { bubbles: true }));
};
const sentences = text => text.split(/[.](?:\s|$)/).filter(each => each !== '').length;
const texts = () => document.body.innerText;
const drawn = (id, kind) => $(id).querySelector('path.' + kind).getAttribute('d').length;
const words_of_nothing = /undefined|NaN|null\b|\[object|Infinity/;

/* All settings and counts of the three runs that are shown, to be done again natively. */
function runs(name) {
    clients(shownState).forEach((set, i) => {
        const keys = [...simulation.settings.map(each => each.name), 'policy', 'budget'];
        const given = keys.map(key => `${key}=${set[key]}`);
        const counted = Object.entries(shownResults[i]).filter(([, value]) => typeof value === 'number');
        say('run', `${name} ${KINDS[i]}`, given.join(';'), counted.map(([key, value]) => `${key}=${value}`).join(' '));
    });
    $('code').textContent.split('\n').forEach(each => lines.push(`code\t${name.replace(/\W/g, '_')}\t${each}`));
}

await settled();
const first = $('answer').textContent;
runs('usual');
check('what it opens with is what comes of it', FIRST.every((each, i) => Object.entries(each).every(([key, value]) =>
    /^bin|^[as].*s$/.test(key) || value === shownResults[i][key])));
check('it opens with an answer', sentences(first) === 3 &&
    first.startsWith('A service that is 70 % busy freezes for 10 s. '));
check('no chapter is pressed', document.querySelector('[aria-pressed=true]').dataset.chapter === '');
check('the address is empty', location.hash === '' || location.hash === '#');
check('the table has a column for each client', document.querySelectorAll('#table tr:first-child th').length === 4 &&
    document.querySelectorAll('#table td').length === 3 * ROWS.length);
for (const id of ['attempts', 'successes']) {
    check(`${id}: text for those who cannot see it`, $(id + '-title').textContent.length > 10 &&
        /without retries \d.*three plain retries \d.*this client \d/.test($(id + '-text').textContent));
    check(`${id}: three lines`, KINDS.every(kind => drawn(id, kind) > 500));
}
for (const { name } of simulation.settings)
    check(`there is a control for ${name}`, document.querySelectorAll(`[data-key="${name}"]`).length === 1);

const ids = [...document.querySelectorAll('[id]')].map(each => each.id);
check('each id is there once', new Set(ids).size === ids.length);

/* Chapters */
for (const name of Object.keys(CHAPTERS)) {
    const before = $('attempts').innerHTML;
    press(name);
    await settled();
    const text = $('answer').textContent;
    check(`${name}: two sentences`, sentences(text) === 2 && /\d/.test(text));
    check(`${name}: what it says holds`, CHAPTERS[name].holds(...shownResults));
    check(`${name}: what one sees changes`, $('attempts').innerHTML !== before);
    check(`${name}: its button is pressed`, document.querySelectorAll('[aria-pressed=true]').length === 1 &&
        document.querySelector('[aria-pressed=true]').dataset.chapter === name);
    await until(() => location.hash === '#chapter=' + name);
    check(`${name}: no word is missing`, !words_of_nothing.test(texts()));
    runs(name);
}
check('each chapter says something else', new Set(lines.filter(each => each.startsWith('run')).map(each =>
    each.split('digest=')[1])).size > 15);

/* The state is in the address. */
location.hash = '#busy=55&fault=2&nodes=3&hit=2&other.policy=aws&other.budget=aws&policy=grpc+attempts%3D3' +
    '&seed=7';
await until(() => state.seed === 7);
await settled();
check('an address is obeyed', state.policy === 'grpc attempts=3' && state['other.budget'] === 'aws' &&
    state.busy === 55 && document.querySelector('[data-key=busy]').value === '55' &&
    $('answer').textContent.includes('55 %'));
check('a part of the nodes', $('answer').textContent.startsWith('Each of 2 of the 3 nodes of a service'));
runs('from the address');
press('');
await settled();
check('back to where it began', $('answer').textContent === first);
enter('burst', '1000');
enter('full', '1');
enter('fault', '5');
enter('network', '20');
enter('choose', '0');
enter('nodes', '4');
await settled();
await until(() => location.hash.includes('nodes=4'));
check('what is changed is in the address', new URLSearchParams(location.hash.slice(1)).get('network') === '20');
runs('bursts');
const reached = location.hash, then = $('answer').textContent;
press('');
await until(() => !location.hash.includes('nodes=4'));
location.hash = reached;
await until(() => state.burst === 1000);
await settled();
check('the same address, the same answer', $('answer').textContent === then);
location.hash = '#busy=x&policy=&nodes=99999&limit=-3&chapter=constructor&constructor=1&fault=9&from=0';
await until(() => state.policy === '');
await settled();
check('an address that makes no sense does no harm', !words_of_nothing.test(texts()) && state.busy === 70 &&
    state.nodes === 8 && state.limit === 20 && state.fault === 5 && state.from === 3000);

/* Code to copy */
$('copy').click();
check('the code is chosen', getSelection().toString().includes('retry_run(&op, &service, &clock, attempt, NULL)'));

/* Texts as they are typed */
press('');
await settled();
const code_before = $('code').textContent, asked_before = asked;
enter('policy', 'aws atempts=3 max=5s');
check('a broken policy: its error',
    $('set-policy-wrong').textContent.startsWith('aws atempts=3 max=5s\nunknown word; presets are '));
check('a broken policy: where', $('set-policy-wrong').querySelector('mark').textContent === 'atempts=3');
check('a broken policy: marked', document.querySelector('[data-key=policy]').getAttribute('aria-invalid') === 'true');
check('a broken policy: nothing is simulated', asked === asked_before && $('code').textContent === code_before);
check('a broken policy: that is said', $('stale').textContent !== '');
enter('policy', 'aws jitter=none é=');
check('a text that is not ASCII: where', $('set-policy-wrong').querySelector('mark').textContent === 'é=');
enter('policy', 'aws attempts=3 max=5s');
check('a mended policy: no error', $('set-policy-wrong').textContent === '' && $('stale').textContent === '');
await settled();
check('a mended policy: simulated', shownState.policy === 'aws attempts=3 max=5s');
enter('budget', 'aws cost=0.0001');
check('a broken budget: its error', /\n.+/.test($('set-budget-wrong').textContent));
enter('budget', 'aws');
enter('other.policy', 'x'.repeat(300));
check('a long text does no harm', /x{300}\nunknown word/.test($('set-other-policy-wrong').textContent));
press('');
await settled();
enter('limit', '');
enter('limit', '100000');
enter('limit', '1.5');
check('numbers that cannot be are not taken', state.limit === 20);

/* Moving the slider only asks: whoever runs is a worker. */
const run = simulation.run;
let ran = 0;
simulation.run = (...all) => (ran++, run(...all));
for (let busy = 40; busy < 90; busy++) enter('busy', String(busy));
check('a slider only asks', ran === 0 && state.busy === 89);
await settled();
check('the last that was asked for is shown', shownState.busy === 89 && ran === 0);

/* The fault: dragged, by its edge, and by keys */
press('');
await settled();
$('attempts').scrollIntoView();
const drag = async (side, by, what) => {
    const box = $('attempts').querySelector('.fault').getBoundingClientRect(), y = box.y + box.height / 2;
    const x = side < 0 ? box.left + 2 : side > 0 ? box.right - 2 : box.left + box.width / 2;
    mouse('Pressed', x, y), mouse('Moved', x + by / 2, y), mouse('Moved', x + by, y), mouse('Released', x + by, y);
    await until(what);
    await settled();
};
await drag(0, 60, () => state.from > 13000);
check('dragged: later, as long', state.length === 10000);
const moved = state.from;
await drag(1, 60, () => state.length > 13000);
check('dragged by its end: longer, from where it was', state.from === moved);
const end = state.from + state.length;
await drag(-1, 30, () => state.from > moved);
check('dragged by its beginning: to where it ended', state.from + state.length === end);
$('successes').querySelector('.fault').focus();
const by_keys = state.from;
key('ArrowLeft');
await until(() => state.from < by_keys);
check('a key moves it', state.from === by_keys - 1000 && state.from + state.length === end - 1000);
key('ArrowRight', 8);
await until(() => state.from + state.length > end - 1000);
check('a key makes it longer', state.from === by_keys - 1000 && state.from + state.length === end);
check('the focus stays', document.activeElement === $('successes').querySelector('.fault'));

/* How busy may I be? */
press('');
await settled();
$('sweep').click();
check('a sweep has a bar', !$('progress').hidden && $('progress').max === 60 && $('sweep').textContent === 'Stop');
await until(() => $('progress').value > 3);
$('sweep').click();
check('a sweep can be stopped', $('progress').hidden && sweeper === null && $('found').textContent === '');
$('sweep').click();
await until(() => !$('swept').hidden);
const [none, other, yours] = $('found').textContent.match(/\d+(?= %)/g).map(Number);
check('a sweep says how busy', none >= 70 && other < 70 && yours >= 70 && !words_of_nothing.test(texts()));
check('a sweep has a picture', $('shares').clientHeight > 100 && KINDS.every(kind => drawn('shares', kind) > 100));
enter('busy', '60');
check('what is changed makes it void', $('swept').hidden && $('found').textContent === '');

/* A phone, and no fault at all */
tell('Emulation.setDeviceMetricsOverride', { width: 390, height: 844, deviceScaleFactor: 1, mobile: true });
await until(() => innerWidth === 390);
press('processes');
await settled();
$('sweep').click();
await until(() => !$('swept').hidden);
check('a phone: nothing beside the screen', document.documentElement.scrollWidth <= 390 &&
    [...document.querySelectorAll('svg text')].every(each => each.getBoundingClientRect().right <= 390));
press('');
enter('length', '0');
await settled();
check('no fault: no word is missing', !words_of_nothing.test(texts()));
enter('work', '1000');
enter('processes', '1000');
enter('timeout', '120000');
enter('end', '240000');
enter('workers', '50');
enter('nodes', '8');
enter('work', '10');
enter('length', '10000');
await settled();
check('too much for its tables: it says so', $('answer').textContent.includes('no room'));
return lines.join('\n');
