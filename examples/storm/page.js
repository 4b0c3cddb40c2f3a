'use strict';
const bytes = Uint8Array.from(atob('@WASM@'), c => c.charCodeAt(0));
const $ = id => document.getElementById(id);
const CLIENT = ['policy', 'budget', 'attempt', 'fixed', 'limit', 'choose'];
const USUAL = { policy: 'best-effort initial=100ms max=5s', budget: 'best-effort in-flight=20' };
const PLAIN = { policy: 'attempts=4 curve=constant initial=100ms jitter=none', budget: 'none', fixed: 1, limit: 0,
    choose: 0 };
/* What comes of the three clients as the page opens: known before anything runs, in bins of half a second. */
const FIRST = [@FIRST@];
const NONE = { policy: 'attempts=1', budget: 'none', fixed: 1, limit: 0, choose: 0 };

/* ---- Words ------------------------------------------------------------------------------------ */

const number = (n, digits = 0) => n.toLocaleString('en', { maximumFractionDigits: digits });
const seconds = ms => ms < 1000 ? number(ms) + ' ms' : number(ms / 1000, 1) + ' s';
const per = (a, b) => (b ? a / b : 0).toFixed(2);
const oneLine = text => text.replace(/\s+/g, ' ').trim();
const NEVER = 0xffffffff;
const shown = s => seconds(Math.max(0, s.end - s.from - s.length));
const well = (c, s) => c.back === NEVER ? `is still down ${shown(s)} after the fault` :
    c.back === 0 ? 'is well again as soon as the fault is over' :
    `is well again ${seconds(c.back)} after the fault`;
const failing = c => c.begun - c.done;
const fewer = (a, b) => failing(a) === failing(b) ? 'as many operations fail as' :
    failing(a) < failing(b) ? `${number(failing(b) - failing(a))} fewer operations fail than` :
    `${number(failing(a) - failing(b))} more operations fail than`;

/* Each changes settings, and says in two sentences what happened; n, o, y are what came of the three clients, and
   `holds` is what the chapter is about. */
const CHAPTERS = {
    jitter: { title: 'Jitter', names: ['without jitter', 'with jitter'],
        set: { fault: 3, attempt: 0, limit: 0, timeout: 30000, budget: 'none',
            policy: 'best-effort initial=1s max=5s' },
        other: { policy: 'best-effort initial=1s max=5s jitter=none' },
        tell: (n, o, y) => `All connections break at the same instant, and without jitter ${number(o.peak)}
            attempts come within a tenth of a second. Jitter makes each wait random, so there are never more than
            ${number(y.peak)}, and ${fewer(y, o)} without it.`,
        holds: (n, o, y) => o.peak > 5 * y.peak && y.done > o.done },
    cap: { title: 'A cap', names: ['without a cap', 'with a cap of 5 s'],
        set: { fault: 0, busy: 10, length: 20000, end: 110000, timeout: 120000, limit: 0, budget: 'none' },
        other: { policy: 'best-effort initial=100ms max=1h' },
        tell: (n, o, y) => `Delays double each time, and without a cap the last operation that began in the fault
            succeeds ${seconds(o.last)} after it. With a cap of 5 s nobody sleeps that long: the last one succeeds
            after ${seconds(y.last)}.`,
        holds: (n, o, y) => o.last > 5 * y.last },
    budget: { title: 'A budget', names: ['without a budget', 'with a budget'],
        set: { limit: 0 }, other: { budget: 'none' },
        tell: (n, o, y, s) => `Without a budget each operation makes ${per(o.sent, o.begun)} attempts, and the
            service ${well(o, s)}. A budget allows one retry for ten successes: ${per(y.sent, y.begun)} attempts
            an operation, and the service ${well(y, s)}.`,
        holds: (n, o, y) => o.back === NEVER && y.back !== NEVER },
    limit: { title: 'The limit', names: ['without a limit', 'with the limit'],
        set: {}, other: { limit: 0 },
        tell: (n, o, y) => `Without a limit ${number(o.in_fault)} attempts go to the frozen service and use up the
            budget, and ${number(failing(o))} operations fail. With the limit ${number(y.in_fault)} do while all
            others wait for their turn, and ${fewer(y, o)} without it.`,
        holds: (n, o, y) => o.in_fault > 2 * y.in_fault && y.done > o.done },
    processes: { title: 'A thousand processes', names: ['20 retries in hand each', 'tokens that expire'],
        set: { processes: 1000, fixed: 1 }, other: { budget: 'capacity=20 cost=1 success=0.1' },
        tell: (n, o, y, s) => `A thousand processes with 20 retries in hand each have 20,000 in all, and the
            service ${well(o, s)}. With tokens that expire each has four until it earns more, and the service
            ${well(y, s)}.`,
        holds: (n, o, y) => o.back === NEVER && y.back !== NEVER },
    few: { title: 'Few calls', names: ['tokens that are all earned', 'four retries that come back'],
        set: { fault: 1, length: 2000, busy: 1, processes: 1 },
        other: { budget: 'capacity=20 cost=1 success=0.1 expire=10s' },
        tell: (n, o, y) => `Who calls twice a second has earned next to nothing: of the ${number(failing(n))}
            operations that meet the fault ${number(failing(o))} fail. The four retries that each process has in
            hand come back in 20 s, and ${failing(y) ? number(failing(y)) : 'none'} of them fails.`,
        holds: (n, o, y) => failing(n) > 1 && failing(o) > 1 && failing(y) === 0 },
    node: { title: 'A dark node', names: ['any node', 'the less busy of two'],
        set: { nodes: 4, workers: 3, hit: 1 }, other: { choose: 0 },
        tell: (n, o, y) => `One node of four is frozen: drawn like the others it gets ${number(o.in_fault)}
            attempts, and ${number(failing(o))} operations fail. When an attempt goes to the less busy of two
            nodes, and last to the one that has just failed, it gets ${number(y.in_fault)}, and
            ${number(failing(y))} fail.`,
        holds: (n, o, y) => failing(o) > 100 && failing(y) < failing(o) / 10 && y.in_fault < o.in_fault / 2 },
    attempt: { title: 'An attempt’s time', names: ['a fixed 500 ms', 'a time that follows the server'],
        set: { busy: 80, attempt: 500 }, other: { fixed: 1 },
        tell: (n, o, y, s) => `The queue is long when the service thaws: attempts that are cut after 500 ms are
            work done in vain, and the service ${well(o, s)}. When attempts may take longer while answers do, it
            ${well(y, s)}, and ${fewer(y, o)} with a fixed time.`,
        holds: (n, o, y) => y.back < o.back / 2 && y.done > o.done },
};

/* What befalls the service, with its verb: "freezes for 10 s". */
const fault = s => words('fault')[s.fault].replace(/,|$/, ` for ${seconds(s.length)}$&`);
const part = s => s.hit >= s.nodes ? 'A' : `${s.hit === 1 ? 'One' : `Each of ${s.hit}`} of the ${s.nodes} nodes of a`;
const trouble = s => `${part(s)} service that is ${s.busy} % busy ${fault(s)}.`;

function answer([n, o, y], s) {
    if (s.chapter) return CHAPTERS[s.chapter].tell(n, o, y, s);
    return `${trouble(s)} ${capital(names(s)[1])} it ${well(o, s)}. With this client it ${well(y, s)}, and
        ${fewer(y, n)} without retries.`;
}

const scene = s => `${s.chapter ? trouble(s) : ''} Each operation may take ${seconds(s.timeout)}, and begins in
    ${s.processes === 1 ? 'the one process' : `one of ${number(s.processes)} processes`}.`;

const ROWS = [
    ['Operations that succeed', c => number(c.done)],
    ['Operations that fail', c => number(failing(c))],
    ['Attempts an operation', c => per(c.sent, c.begun)],
    ['Attempts in the busiest 0.1 s', c => number(c.peak)],
    ['Attempts at nodes in trouble', c => number(c.in_fault)],
    ['Well again', (c, s) => c.back === NEVER ? `not within ${shown(s)}` :
        c.back ? `after ${seconds(c.back)}` : 'at once'],
    ['Half of those that succeed do within', c => seconds(c.p50)],
    ['99 % of them within', c => seconds(c.p99)],
];

/* ---- State ------------------------------------------------------------------------------------ */

let simulation, state = {}, shownState, shownResults;
const setting = name => simulation.settings.find(each => each.name === name);
const words = name => setting(name).kind.split('|');
const capital = text => text[0].toUpperCase() + text.slice(1);
const prefixed = values => Object.fromEntries(Object.entries(values).map(([key, value]) => ['other.' + key, value]));
const isPlain = s => CLIENT.every(key => s['other.' + key] === usual()['other.' + key]);
const names = s => ['without retries', ...s.chapter ? CHAPTERS[s.chapter].names :
    [isPlain(s) ? 'with three plain retries' : 'with the other client', 'with this client']];

function usual() {
    const all = { ...Object.fromEntries(simulation.settings.map(({ name, value }) => [name, value])), ...USUAL };
    return { chapter: '', ...all, ...prefixed({ attempt: all.attempt, ...PLAIN }) };
}

/* What a chapter sets; the other client is this one, but for what the chapter is about. */
function settingsOf(chapter) {
    if (!Object.hasOwn(CHAPTERS, chapter)) return usual();
    const { set, other } = CHAPTERS[chapter], all = { ...usual(), ...set, chapter };
    return { ...all, ...prefixed(Object.fromEntries(CLIENT.map(key => [key, other[key] ?? all[key]]))) };
}

/* The address holds the chapter, or what is not as usual. */
function fromAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    state = settingsOf(given.get('chapter') ?? '');
    if (state.chapter) return;
    for (const [key, value] of given) {
        if (!Object.hasOwn(state, key) || key === 'chapter') continue;
        const range = setting(key.replace('other.', ''));
        if (!range) state[key] = value;
        else if (/^\d+$/.test(value)) state[key] = Math.min(Math.max(+value, range.low), range.high);
    }
}

/* Browsers refuse a page that changes its address all the time. */
let addressTimer;
function toAddress() {
    const all = usual(), differs = Object.keys(state).filter(key => state[key] !== all[key]);
    const text = state.chapter ? { chapter: state.chapter } : Object.fromEntries(differs.map(key => [key, state[key]]));
    clearTimeout(addressTimer);
    addressTimer = setTimeout(() => history.replaceState(null, '', '#' + new URLSearchParams(text)), 300);
}

function change(values) {
    Object.assign(state, values, { chapter: '' });
    update();
}

/* The settings of the three clients: none, the other, this one. */
function clients(from) {
    const pick = prefix => Object.fromEntries(CLIENT.map(key => [key, from[prefix + key]]));
    return [{ ...from, ...NONE }, { ...from, ...pick('other.') }, { ...from, ...pick('') }];
}

/* ---- Workers ---------------------------------------------------------------------------------- */

function startWorker(told) {
    const code = new Blob([$('engine').textContent], { type: 'text/javascript' });
    const started = new Worker(URL.createObjectURL(code));
    started.postMessage({ bytes });
    started.onmessage = ({ data }) => told(data);
    return started;
}

/* Simulates the last settings that were asked for, one after the other. */
let worker, asked = 0, running = null;
function simulate() {
    asked++;
    if (!running) send();
}

function send() {
    running = { ...state };
    worker.postMessage({ id: asked, all: clients(running) });
}

function simulated({ id, results }) {
    shownState = running;
    shownResults = results;
    running = null;
    show();
    if (id !== asked) send();
}

/* ---- Pictures --------------------------------------------------------------------------------- */

const KINDS = ['none', 'other', 'yours'];
const EDGE = { left: 44, right: 10, top: 8, bottom: 24 };

function step(most, steps) {
    const power = 10 ** Math.floor(Math.log10(most / steps || 1));
    return [1, 2, 5, 10].map(n => n * power).find(n => most / n <= steps);
}

/* Three lines of points [x, y]; marks is the capacity, band the fault from and to. */
function plot(id, title, text, { lines, from, to, most, unit, capacity, band }) {
    const svg = $(id), width = svg.clientWidth || 800, height = 190;
    const every = step(most, 4), wide = step(to - from, width < 500 ? 4 : 7);
    const x = v => EDGE.left + (v - from) / (to - from) * (width - EDGE.left - EDGE.right);
    const y = v => height - EDGE.bottom - v / most * (height - EDGE.bottom - EDGE.top);
    const path = points => 'M' + points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join('L');
    const levels = Array.from({ length: Math.floor(most / every) + 1 }, (_, i) => i * every);
    const moments = Array.from({ length: Math.floor((to - from) / wide) + 1 }, (_, i) => from + i * wide);
    if (!svg.firstChild) {
        svg.innerHTML = `<g role="img" aria-labelledby="${id}-title ${id}-text"><title id="${id}-title"></title>
            <desc id="${id}-text"></desc><g class="scale"></g><path class="capacity"/>
            ${KINDS.map(kind => `<path class="${kind}"/>`).join('')}</g>
            ${band ? '<rect class="fault" tabindex="0"/>' : ''}`;
        if (band) makeDraggable(svg.querySelector('.fault'));
    }
    svg.querySelector('title').textContent = title;
    svg.querySelector('desc').textContent = oneLine(text);
    const word = (text, a, b, anchor) => `<text x="${a}" y="${b}" text-anchor="${anchor}">${text}</text>`;
    svg.querySelector('.scale').innerHTML = levels.map(v => `<path class="grid" d="${path([[from, v], [to, v]])}"/>` +
        word(number(v), EDGE.left - 8, y(v) + 4, 'end')).join('') + moments.map(v =>
        word(number(v) + (v + wide > to ? ' ' + unit : ''), x(v), height - 6, v === to ? 'end' : 'middle')).join('');
    svg.querySelector('.capacity').setAttribute('d', capacity <= most ? path([[from, capacity], [to, capacity]]) : '');
    KINDS.forEach((kind, i) => svg.querySelector('path.' + kind).setAttribute('d', path(lines[i])));
    if (band) Object.entries({ x: x(band[0]), width: Math.max(4, x(band[1]) - x(band[0])), y: EDGE.top,
        height: height - EDGE.bottom - EDGE.top, role: 'slider', 'aria-label': 'When the fault begins',
        'aria-valuemin': 0, 'aria-valuemax': to, 'aria-valuenow': band[0],
        'aria-valuetext': `begins at ${band[0]} s, lasts ${number(band[1] - band[0], 1)} s` })
        .forEach(([name, value]) => svg.querySelector('.fault').setAttribute(name, value));
}

function moveFault(from, length) {
    const end = state.end - 2000, begins = Math.min(Math.max(from, setting('from').low), end - 1000);
    change({ from: begins, length: Math.min(Math.max(length, 0), end - begins) });
}

function makeDraggable(rect) {
    rect.onpointerdown = down => {
        const box = rect.getBoundingClientRect(), { from, length } = state, end = from + length;
        const scale = state.end / (rect.ownerSVGElement.clientWidth - EDGE.left - EDGE.right);
        const edge = Math.min(10, box.width / 4);
        rect.setPointerCapture(down.pointerId);
        rect.onpointermove = move => {
            const by = Math.round((move.clientX - down.clientX) * scale / 100) * 100;
            if (down.clientX < box.left + edge) moveFault(Math.min(from + by, end), Math.max(end - from - by, 0));
            else if (down.clientX > box.right - edge) moveFault(from, length + by);
            else moveFault(from + by, length);
        };
        rect.onpointerup = rect.onpointercancel = () => { rect.onpointermove = null; };
    };
    rect.onkeydown = event => {
        const by = { ArrowLeft: -1000, ArrowDown: -1000, ArrowRight: 1000, ArrowUp: 1000 }[event.key];
        if (!by) return;
        event.preventDefault();
        moveFault(state.from + (event.shiftKey ? 0 : by), state.length + (event.shiftKey ? by : 0));
    };
}

/* Counts of bins as points: seconds, and how many a second. */
function rates(column, results, count) {
    const bins = Math.max(1, Math.round(results.bins / count)), each = bins * results.bin / 1000, points = [];
    for (let i = 0; i + bins <= results.bins; i += bins)
        points.push([(i / bins + .5) * each, column.slice(i, i + bins).reduce((a, b) => a + b) / each]);
    return points;
}

function told(lines, s, called) {
    const from = s.from / 1000, to = from + s.length / 1000, end = s.end / 1000;
    const mean = (points, a, b) => {
        const inside = points.filter(([x]) => x >= a && x < b);
        return number(inside.reduce((sum, [, y]) => sum + y, 0) / (inside.length || 1));
    };
    return 'A second, before the fault, in it, in the 10 s after it, and in the last 5 s: ' + lines.map((points, i) =>
        `${called[i]} ${mean(points, 0, from)}, ${mean(points, from, to)}, ${mean(points, to, to + 10)},
        ${mean(points, end - 5, end)}`).join('; ') + '.';
}

function draw() {
    const s = shownState, called = names(s);
    const capacity = s.nodes * s.workers * 1000 / s.work;
    const spiky = shownResults.some(each => each.peak * 1000 / each.bin > 10 * capacity);
    for (const [id, what, title] of [['attempts', 'attempts', 'Attempts at the service'],
        ['successes', 'successes', 'Operations that succeed']]) {
        const lines = shownResults.map(each => rates(each[what], each, spiky && id === 'attempts' ? 600 : 120));
        plot(id, title, told(lines, s, called), { lines, from: 0, to: s.end / 1000, unit: 's', capacity,
            most: Math.max(capacity, ...lines.flat().map(point => point[1])) * 1.04,
            band: [s.from, s.from + s.length].map(ms => Math.min(ms, s.end) / 1000) });
    }
}

function show() {
    const s = shownState, called = names(s);
    $('answer').textContent = shownResults.some(each => each.overrun) ?
        'So many operations are under way at once that this page has no room for them: these numbers are no good.' :
        oneLine(answer(shownResults, s));
    $('scene').textContent = oneLine(scene(s));
    document.querySelectorAll('[data-name=other]').forEach(at => { at.textContent = called[1]; });
    document.querySelectorAll('[data-name=yours]').forEach(at => { at.textContent = called[2]; });
    $('table').innerHTML = '<tr><th></th>' + called.map((name, i) =>
        `<th scope="col"><i class="${KINDS[i]}"></i>${name}</th>`).join('') + '</tr>' + ROWS.map(([name, of]) =>
        `<tr><th scope="row">${name}</th>${shownResults.map(each => `<td>${of(each, s)}</td>`).join('')}</tr>`)
        .join('');
    draw();
}

/* ---- The program in C ------------------------------------------------------------------------- */

function code(s) {
    const several = s.nodes > 1 && s.choose, line = (when, text) => when ? [text] : [];
    return [
        '#define _POSIX_C_SOURCE 200809L',
        '#define RETRY_IMPLEMENTATION /* in one C or C++ file of your program */',
        '#define RETRY_SYSTEM_CLOCK',
        '#include "retry.h"',
        '#include <stdio.h>',
        '#include <string.h>',
        '',
        `static const char policy[] = ${JSON.stringify(s.policy)};`,
        `static const char budget[] = ${JSON.stringify(s.budget)};`,
        '',
        'static bool attempt(void *context, const retry_operation *op, const retry_step *step,',
        '                    retry_failure *failure)',
        '{',
        '    (void)context;',
        '    (void)op;',
        '    (void)failure; /* if yours fails: *failure = retry_classify_http(status, 0), and false */',
        '    printf("an attempt, to node %u, for at most %u ms\\n", (unsigned)step->node,',
        '           (unsigned)step->timeout);',
        '    return true;',
        '}',
        '',
        'static int wrong(const char *text, const retry_text_error *error)',
        '{',
        '    fprintf(stderr, "%s: %s\\n", text + error->offset, error->text);',
        '    return 2;',
        '}',
        '',
        'int main(void)',
        '{',
        '    static retry_service service; /* one for each service: policy, budget, limit, client */',
        '    static retry_operation op;    /* one for each operation */',
        ...line(several, `    static retry_gates nodes[${s.nodes}];`),
        ...line(several && s.limit, `    static retry_aimd limits[${s.nodes}];`),
        '    retry_clock clock = retry_system_clock();',
        '    retry_text_error error;',
        '    if (!retry_parse_policy(&service.policy, policy, strlen(policy), &error))',
        '        return wrong(policy, &error);',
        '    if (!retry_parse_budget(&service.budget.options, budget, strlen(budget), &error))',
        '        return wrong(budget, &error);',
        ...line(s.limit, `    service.limit.initial = ${s.limit}; /* attempts at once, at first */`),
        ...line(s.attempt, `    service.client.cut_after = ${s.attempt}; /* ms, to begin with */`),
        ...line(s.attempt && s.fixed, `    service.client.attempt_timeout = ${s.attempt}; /* ms: it is fixed */`),
        ...line(several, `    retry_client_nodes(&service.client, nodes, ${s.nodes});`),
        '    retry_service_init(&service, clock.now(clock.context));',
        ...line(several && s.limit, `    for (int i = 0; i < ${s.nodes}; i++) {`),
        ...line(several && s.limit, `        limits[i].initial = ${s.limit};`),
        ...line(several && s.limit, '        retry_gates_aimd(&nodes[i], &limits[i]);'),
        ...line(several && s.limit, '    }'),
        '    if (service.budget.options.retry_cost == 0)',
        '        service.client.budget = NULL;',
        ...line(!s.limit && !several, '    service.client.gates = NULL; /* no limit */'),
        `    op.timeout = ${s.timeout}; /* ms for the operation, with all attempts and waits */`,
        '    op.idempotent = true; /* doing it twice does no more than doing it once */',
        '    return retry_run(&op, &service, &clock, attempt, NULL).verdict == RETRY_VERDICT_SUCCESS ? 0 : 1;',
        '}',
        ''].join('\n');
}

/* ---- Controls --------------------------------------------------------------------------------- */

const TEXTS = { policy: ['How long to wait, and how often to try', 0], budget: ['How many retries in all', 1] };
const SLIDERS = { busy: 100, length: 60000, processes: 1000 };

function label({ name, kind, about }) {
    if (kind === 'ms') return (SLIDERS[name] ? 'Time ' : 'Milliseconds ') + about;
    return capital(about) + (kind === '%' ? ' (%)' : '');
}

/* A field for one key of the state. */
function addField(form, key) {
    const name = key.replace('other.', ''), of = setting(name);
    const field = document.createElement('label'), id = 'set-' + key.replace('.', '-');
    if (TEXTS[name]) {
        field.innerHTML = `${TEXTS[name][0]}<input id="${id}" data-text data-key="${key}" maxlength="300"
            spellcheck="false" autocapitalize="off" aria-describedby="${id}-wrong"><p class="wrong" id="${id}-wrong"
            role="status"></p>`;
    } else if (of.kind.includes('|')) {
        field.innerHTML = `${label(of)}<select id="${id}" data-key="${key}">${words(name).map((word, i) =>
            `<option value="${i}">${word}</option>`).join('')}</select>`;
    } else {
        const slides = SLIDERS[name] ? `type="range" max="${SLIDERS[name]}" step="${of.kind === 'ms' ? 100 : 1}"` :
            `type="number" max="${of.high}" inputmode="numeric"`;
        field.innerHTML = `${label(of)} ${SLIDERS[name] ? '<output></output>' : ''}<input id="${id}"
            data-key="${key}" min="${of.low}" ${slides}>`;
    }
    form.append(field);
}

function addFields() {
    const world = simulation.settings.map(each => each.name).filter(name => !CLIENT.includes(name));
    ['busy', 'length', 'processes', 'fault'].forEach(name => addField($('main'), name));
    CLIENT.forEach(name => addField($('yours'), name));
    CLIENT.forEach(name => addField($('other'), 'other.' + name));
    world.filter(name => !(name in SLIDERS) && name !== 'fault').forEach(name => addField($('world'), name));
    document.oninput = ({ target }) => {
        if (!target.dataset.key || !target.checkValidity() || target.value === '') return;
        change({ [target.dataset.key]: 'text' in target.dataset ? target.value : Math.round(+target.value) });
    };
    document.onsubmit = event => event.preventDefault();
}

/* Shows what is wrong with a text, as it is typed; true if nothing is. */
function checkText(input) {
    const wrong = simulation.parse(TEXTS[input.dataset.key.replace('other.', '')][1], input.value);
    const below = $(input.id + '-wrong');
    input.setAttribute('aria-invalid', !!wrong);
    below.textContent = '';
    if (!wrong) return true;
    const before = new TextDecoder().decode(new TextEncoder().encode(input.value).slice(0, wrong.offset));
    const mark = document.createElement('mark'), word = input.value.slice(before.length).match(/^[^\s,]*/)[0];
    mark.textContent = word || ' ';
    below.append(before, mark, input.value.slice(before.length + word.length), '\n' + wrong.text);
    return false;
}

function update() {
    for (const input of document.querySelectorAll('[data-key]')) {
        const value = state[input.dataset.key], output = input.parentNode.querySelector('output');
        if (input !== document.activeElement || input.type === 'range') input.value = value;
        if (output) output.textContent = input.dataset.key === 'length' ? seconds(value) : number(value);
    }
    document.querySelectorAll('#chapters button').forEach(each =>
        each.setAttribute('aria-pressed', each.dataset.chapter === state.chapter));
    const readable = [...document.querySelectorAll('[data-text]')].map(checkText).every(fine => fine);
    $('stale').textContent = readable ? '' : 'All above shows the last texts that could be read.';
    stopSweep();
    toAddress();
    if (!readable) return;
    $('code').textContent = code(state);
    simulate();
}

/* ---- How busy may I be? ----------------------------------------------------------------------- */

const SEEDS = 3, STEP = 5;
let sweeper = null;
function stopSweep() {
    if (sweeper) sweeper.terminate();
    sweeper = null;
    $('progress').hidden = $('swept').hidden = true;
    $('found').textContent = '';
    $('sweep').textContent = 'Find out';
}

function sweep() {
    const levels = Array.from({ length: 100 / STEP }, (_, i) => (i + 1) * STEP), runs = [], s = { ...state };
    levels.forEach(busy => Array.from({ length: SEEDS }, (_, i) => runs.push({ ...s, busy, seed: s.seed + i })));
    const all = [];
    if (sweeper) return stopSweep();
    Object.assign($('progress'), { hidden: false, max: runs.length, value: 0 });
    $('sweep').textContent = 'Stop';
    sweeper = startWorker(({ id, results }) => {
        $('progress').value = id + 1;
        all.push(results);
        if (all.length === runs.length) found(levels, all, s);
        else sweeper.postMessage({ id: id + 1, all: clients(runs[id + 1]) });
    });
    sweeper.postMessage({ id: 0, all: clients(runs[0]) });
}

function found(levels, all, s) {
    const of = (level, kind) => all.slice(level * SEEDS, level * SEEDS + SEEDS).map(results => results[kind]);
    const sum = (results, count) => results.reduce((total, each) => total + each[count], 0);
    const lines = KINDS.map((_, kind) => levels.map((busy, i) =>
        [busy, 100 * sum(of(i, kind), 'done') / sum(of(i, kind), 'begun')]));
    const most = KINDS.map((_, kind) => {
        const stuck = levels.findIndex((_, i) => of(i, kind).some(each => each.back === NEVER));
        return stuck < 0 ? 100 : stuck * STEP;
    });
    stopSweep();
    $('found').textContent = `The service is well again within ${shown(s)} if it was at most this busy before: ` +
        names(s).map((name, i) => `${name}, ${most[i]} %`).join('; ') + '.';
    $('swept').hidden = false;
    plot('shares', 'Operations that succeed', 'Percent of all, for each degree of business: ' + KINDS.map((_, kind) =>
        `${names(s)[kind]} ${lines[kind].filter((_, i) => i % 4 === 3).map(([busy, share]) =>
        `${number(share)} at ${busy} %`).join(', ')}`).join('; ') + '.',
    { lines, from: 0, to: 100, most: 100, unit: '% busy', capacity: Infinity });
}

/* ---- All together ----------------------------------------------------------------------------- */

engine(bytes).then(made => {
    simulation = made;
    worker = startWorker(simulated);
    $('chapters').innerHTML = ['', ...Object.keys(CHAPTERS)].map(key =>
        `<button data-chapter="${key}">${key ? CHAPTERS[key].title : 'Overview'}</button>`).join('');
    $('chapters').onclick = ({ target }) => {
        if (!('chapter' in target.dataset)) return;
        state = settingsOf(target.dataset.chapter);
        update();
    };
    $('sweep').onclick = sweep;
    $('copy').onclick = async () => {
        getSelection().selectAllChildren($('code'));
        await navigator.clipboard?.writeText($('code').textContent)
            .then(() => { $('copy').textContent = 'Copied'; }, () => {});
    };
    window.onhashchange = () => { fromAddress(); update(); };
    new ResizeObserver(() => shownResults && draw()).observe($('attempts'));
    $('swept').prepend(document.querySelector('.keys').cloneNode(true));
    addFields();
    fromAddress();
    if (JSON.stringify(state) === JSON.stringify(usual())) [shownState, shownResults] = [{ ...state }, FIRST];
    if (shownResults) show();
    update();
});
