// Runs the library in a thread of its own. A message is {library} once, then {id, request} with the request's bytes;
// the answer is {id, answer} with the text of the library's JSON, or {id, failure}.
"use strict";

let library;

async function start(gzipped) {
  const stream = new Blob([gzipped]).stream().pipeThrough(new DecompressionStream("gzip"));
  const module = await WebAssembly.instantiate(await new Response(stream).arrayBuffer());
  return module.instance.exports;
}

/** Passes the bytes of a request to the library and returns the text of its answer. */
function answer({ memory, take, call, release }, request) {
  const place = take(request.length);
  new Uint8Array(memory.buffer, place, request.length).set(request);
  const framed = call(place, request.length);
  // The memory may have grown: its buffer is asked for anew.
  const length = new DataView(memory.buffer).getUint32(framed, true);
  const text = new TextDecoder().decode(new Uint8Array(memory.buffer, framed + 4, length));
  release(framed);
  return text;
}

onmessage = async ({ data }) => {
  if (data.library) {
    library = start(data.library);
    return;
  }
  try {
    postMessage({ id: data.id, answer: answer(await library, data.request) });
  } catch (error) {
    postMessage({ id: data.id, failure: String(error) });
  }
};
