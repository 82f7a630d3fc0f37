// From what a path names to bytes and a trace: files of this machine, of a run of the server, or at an address.
import * as server from "./server.js";

const limit = 1e9;
const kept = new Map();
let count = 0;

// How a run is read. The server reads one that is not small, and sends the trace: as it is over a fast link, packed over a
// slow one. The first bytes of its files tell how fast the link is; the rest follows the trace, because only the arguments of
// slices need them. Measurements (scripts/web-bench) set other limits, and `slowSends`.
const rule = { small: 4e6, large: 24e6, largeAtOnce: 80e6, lookAfterBytes: 3e6, lookAfterMs: 250, fastBytesPerMs: 40e3, mostFiles: 200e6, ...globalThis.systoleRule };

// What comes over a slow link. Packed, a trace of devices has four tenths of the bytes of its files, one of hosts as many: then
// the files are faster, which the server needs not read before it sends them, and a page can hold them and the trace.
function slowSends(total, events) {
  const isOfHosts = events && events.devices < events.others;
  return rule.slowSends ?? (isOfHosts && total <= rule.mostFiles ? "files" : "trace");
}

const standsAlone = /\.(pb|json|trace)(\.gz)?$/;

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;

function tooLarge(name, bytes) {
  return `${name} has ${megabytes(bytes)}: a browser page can hold a profile of at most ${megabytes(limit)}. ` +
    "Open it with the desktop app, or with systole on the machine that has it";
}

export function keep(file) {
  const path = `local/${++count}/${file.name}`;
  kept.set(path, file);
  return path;
}

// Bytes as they arrive, in pieces: joining those of a large file would stop the page for too long.
class Arriving {
  constructor(name) {
    this.name = name;
    this.clear();
  }

  clear() {
    this.pieces = [];
    this.done = 0;
  }

  expect(total) {
    if (total > limit) throw new Error(tooLarge(this.name, total));
  }

  add(piece) {
    this.expect(this.done + piece.length);
    this.pieces.push(piece);
    this.done += piece.length;
  }
}

class Cancelled extends Error {}

// Adds a stream to what has arrived. `step` is told the bytes and says whether to go on.
async function collect(stream, arriving, step) {
  const reader = stream.getReader();
  try {
    for (;;) {
      const part = await reader.read();
      if (part.done) return;
      arriving.add(part.value);
      if (!step(arriving.done)) throw new Cancelled("cancelled");
    }
  } catch (error) {
    reader.cancel().catch(() => {});
    throw error;
  }
}

// The bytes at an address. Those of a server of Systole that goes away meanwhile are taken up where they ended.
async function download(file, packed, step, signal) {
  const arriving = new Arriving(file.name);
  const goesOn = () => step(arriving.done);
  let tag = null;
  for (;;) {
    const rest = tag ? { Range: `bytes=${arriving.done}-`, "If-Range": tag } : {};
    const response = await server.asked(file.url + (packed ? "?packed=true" : ""), { headers: rest, goesOn, signal });
    if (response.status !== 206) arriving.clear();
    // Of a packed answer the length says nothing about the bytes that arrive.
    const isPacked = response.headers.get("content-encoding");
    if (!isPacked) file.size = arriving.done + Number(response.headers.get("content-length")) || file.size;
    tag = isPacked ? null : response.headers.get("etag");
    arriving.expect(file.size);
    try {
      await collect(response.body, arriving, step);
      return arriving.pieces;
    } catch (error) {
      if (!file.isServed || !(error instanceof TypeError)) throw error;
      await server.back(goesOn);
    }
  }
}

// What a path names that is no run.
function listed(path) {
  const file = kept.get(path);
  if (file) return [{ name: file.name, size: file.size, local: file }];
  if (path.startsWith("local/")) {
    throw new Error("this file was opened from this machine, and a page cannot open it again: drop it on the window");
  }
  const url = new URL(path, document.baseURI);
  if (!["http:", "https:"].includes(url.protocol)) throw new Error(`a page can read only http and https: ${path}`);
  return [{ name: decodeURIComponent(url.pathname.split("/").pop()) || "profile", size: 0, url: url.href }];
}

// The bytes of files, one after the other, each in pieces.
async function bytesOf(files, packed, step, signal) {
  const done = files.map(() => 0);
  const read = [];
  for (const [at, file] of files.entries()) {
    const arrived = (bytes) => {
      done[at] = bytes;
      return step(false, sum(done), sum(files.map((one) => one.size)));
    };
    let bytes;
    if (file.local) {
      const arriving = new Arriving(file.name);
      arriving.expect(file.size);
      await collect(file.local.stream(), arriving, arrived);
      bytes = arriving.pieces;
    } else {
      bytes = await download(file, packed, arrived, signal);
    }
    read.push({ name: file.name, host: file.host ?? undefined, bytes });
  }
  return named(read);
}

// Arguments are found again by the names of files, which the folders of a capture may share.
function named(files) {
  const isTaken = (file, at) => files.findIndex((other) => other.name === file.name) < at;
  return files.map((file, at) => (isTaken(file, at) ? { ...file, name: `${at + 1} ${file.name}` } : file));
}

// Reads some bytes of a file, and returns how many arrive in a millisecond.
async function speedOf(file, goesOn) {
  const stop = new AbortController();
  const response = await server.asked(file.url, { goesOn, signal: stop.signal });
  const reader = response.body.getReader();
  const began = performance.now();
  let [bytes, spent, isOver] = [0, 0, false];
  while (!isOver && bytes < rule.lookAfterBytes && spent < rule.lookAfterMs) {
    const part = await reader.read();
    isOver = part.done;
    bytes += part.value?.length ?? 0;
    spent = performance.now() - began;
    if (!goesOn()) throw new Cancelled("cancelled");
  }
  stop.abort();
  return bytes / Math.max(spent, 1);
}

// A trace as the server has read it.
async function traceOf(id, isPacked, signal, step) {
  const answer = await server.modelOf(id, isPacked, { signal, goesOn: () => step(true, 0, 0) });
  const arriving = new Arriving("the trace");
  const size = isPacked ? 0 : Number(answer.headers.get("content-length"));
  arriving.expect(size);
  await collect(answer.body, arriving, (done) => step(false, done, size));
  return arriving.pieces;
}

// Lets what is shown first of a large run be seen, while the rest comes.
async function lookAt(id, isPacked, signal, first) {
  const answer = await server.firstOf(id, isPacked, { signal, goesOn: () => !signal.aborted }).catch(() => null);
  if (!answer) return;
  const arriving = new Arriving("what is shown first");
  await collect(answer.body, arriving, () => true).catch(() => arriving.clear());
  if (arriving.done > 0) first(arriving.pieces);
}

// A run of the server: its bytes, or the trace as the server has read it and promises of the bytes.
async function readRun(id, { files, events }, step, first) {
  const total = sum(files.map((file) => file.size));
  const isAlone = files.every((file) => standsAlone.test(file.name));
  if (isAlone && total < rule.small) return { files: await bytesOf(files, false, step) };
  const stop = new AbortController();
  let isPacked = false;
  try {
    isPacked = (await speedOf(files[0], () => step(false, 0, total))) < rule.fastBytesPerMs;
    // Over a fast link, smaller ones are there about as soon.
    if (total >= (isPacked ? rule.large : rule.largeAtOnce)) await cancellable(lookAt(id, isPacked, stop.signal, first), () => step(true, 0, 0));
    if (isAlone && isPacked && slowSends(total, events) === "files") return { files: await bytesOf(files, true, step) };
    const snapshot = await cancellable(traceOf(id, isPacked, stop.signal, step), () => step(true, 0, 0));
    performance.mark("systole-trace");
    return { files: await bytesLater(files, isPacked, step), snapshot };
  } catch (error) {
    stop.abort();
    if (!isAlone || error instanceof Cancelled) throw error;
    // What the server cannot read may still be read here, and what is wrong is said.
    return { files: await bytesOf(files, isPacked, step) };
  }
}

// Files that are read while their trace is looked at, one after the other, until it is closed. Those that must be unpacked are
// read now.
async function bytesLater(files, isPacked, step) {
  if (!files.every((file) => /\.(pb|json|trace)$/.test(file.name))) return bytesOf(files, isPacked, step);
  let before = Promise.resolve();
  const later = files.map((file) => {
    const closed = new AbortController();
    const read = async () => {
      closed.signal.throwIfAborted();
      const [{ bytes }] = await bytesOf([file], isPacked, () => true, closed.signal);
      return unpacked(bytes);
    };
    const bytes = before.then(read);
    before = bytes.catch(() => {});
    return { name: file.name, host: file.host ?? undefined, bytes, stop: () => closed.abort() };
  });
  return named(later);
}

// Gzip may be inside a file of any name, and arguments are read from what is in it.
async function unpacked(pieces) {
  const [first, second] = pieces[0] ?? [];
  if (first !== 0x1f || second !== 0x8b) return pieces;
  const rest = pieces.values();
  const packed = new ReadableStream({
    pull: (into) => {
      const { value, done } = rest.next();
      if (done) into.close();
      else into.enqueue(value);
    },
  });
  const arriving = new Arriving("the file");
  await collect(packed.pipeThrough(new DecompressionStream("gzip")), arriving, () => true);
  return arriving.pieces;
}

// The same promise, until nobody waits for it any more.
function cancellable(promise, goesOn) {
  return new Promise((resolve, reject) => {
    const watching = setInterval(() => {
      if (!goesOn()) reject(new Cancelled("cancelled"));
    }, 30);
    promise.then(resolve, reject).finally(() => clearInterval(watching));
  });
}

// Reads what a path names. `step` is told whether it is being imported, and bytes done and in total; `first` gets a snapshot of
// what is shown first of a large file.
export async function read(path, module, step, first) {
  const id = path.startsWith("run/") ? path.split("/")[1] : null;
  const run = id ? await server.filesOf(id, () => step(false, 0, 0)) : { files: listed(path) };
  const total = sum(run.files.map((file) => file.size));
  if (total > limit) throw new Error(tooLarge(run.files.map((file) => file.name).join(", "), total));
  let isShown = false;
  const once = (snapshot) => {
    if (isShown) return;
    isShown = true;
    performance.mark("systole-first");
    first(snapshot);
  };
  if (!id) return imported(await bytesOf(run.files, false, step), module, step, once);
  const { files: read, snapshot } = await readRun(id, run, step, once);
  return snapshot ? { files: read, snapshot } : imported(read, module, step, once);
}

// Imports files in a worker, which keeps the page alive meanwhile and can be stopped at any time.
function imported(files, module, step, first) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    let at = [0, 0];
    const watching = setInterval(() => {
      if (!step(true, at[0], at[1])) end(() => reject(new Cancelled("cancelled")));
    }, 30);
    function end(then) {
      clearInterval(watching);
      worker.terminate();
      then();
    }
    worker.onerror = (event) => end(() => reject(new Error(`the import stopped: ${event.message || "the worker did not start"}`)));
    worker.onmessage = ({ data }) => {
      if (data.progress) at = data.progress;
      if (data.first) first([data.first]);
      if (data.error) end(() => reject(new Error(data.error)));
      if (data.snapshot) end(() => resolve({ files: data.files, snapshot: [data.snapshot] }));
    };
    // The bytes move to the worker and back: they are never twice in memory.
    const buffers = files.flatMap((file) => file.bytes.map((piece) => piece.buffer));
    worker.postMessage({ module, files }, [...new Set(buffers)]);
  });
}
