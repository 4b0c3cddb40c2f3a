'use strict';
/* The simulation: used by the page to read texts, and by workers to run. */
async function engine(bytes) {
    const wasm = (await WebAssembly.instantiate(bytes, {})).instance.exports;
    const at = (what, length) => new Uint32Array(wasm.memory.buffer, wasm.at(what), length);
    const string = where => {
        const all = new Uint8Array(wasm.memory.buffer, where);
        return new TextDecoder().decode(all.slice(0, all.indexOf(0)));
    };
    const lines = where => string(where).trimEnd().split('\n');
    const names = lines(wasm.at(5));
    const settings = lines(wasm.at(4)).map(line => {
        const [name, value, low, high, kind, about] = line.split('\t');
        return { name, value: +value, low: +low, high: +high, kind, about };
    });
    /* null, or what is wrong in a text and how many bytes are before it */
    const parse = (which, text) => {
        const into = new Uint8Array(wasm.memory.buffer, wasm.at(0), 400);
        const { read, written } = new TextEncoder().encodeInto(text, into);
        const offset = wasm.parse(which, written);
        if (read < text.length) return { offset: written, text: 'too long' };
        return offset >>> 0 === 0xffffffff ? null : { offset, text: string(wasm.at(0)) };
    };
    const run = (values) => {
        if (parse(0, values.policy) || parse(1, values.budget)) return null;
        at(1, settings.length).set(settings.map(each => values[each.name]));
        wasm.run();
        const counted = at(2, names.length), counts = Object.fromEntries(names.map((name, i) => [name, counted[i]]));
        const bins = at(3, counts.bins * 4), column = i => bins.filter((_, k) => k % 4 === i);
        return { ...counts, attempts: column(2), successes: column(3) };
    };
    return { settings, parse, run };
}
if (typeof document === 'undefined') {
    let ready;
    onmessage = async ({ data }) => {
        if (data.bytes) ready = engine(data.bytes);
        else postMessage({ id: data.id, results: data.all.map((await ready).run) });
    };
}
