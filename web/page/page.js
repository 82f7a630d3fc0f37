// What the page does for the window: files, addresses, messages. `systolePage` is called from
// `app/src/gui/platform/browser/page.rs`.
import init, { memory_bytes, start, state } from "./systole.js";

const shell = document.getElementById("shell");
const message = document.getElementById("message");
const query = new URLSearchParams(location.search);
const limit = 1e9;
const kept = new Map();
let module;
let count = 0;

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;

function tooLarge(name, bytes) {
  return `${name} has ${megabytes(bytes)}: a browser page can hold a profile of at most ${megabytes(limit)}. ` +
    "Open it with the desktop app, or with systole on the machine that has it";
}

function fail(text) {
  shell.hidden = false;
  shell.classList.add("failed");
  message.textContent = text;
  if (!shell.querySelector("button")) {
    const again = document.createElement("button");
    again.textContent = "Start again";
    again.onclick = () => location.reload();
    shell.append(again);
  }
}

function keep(file) {
  const path = `local/${++count}/${file.name}`;
  kept.set(path, file);
  return path;
}

// The parts of a stream as one array. `step` is told bytes done and in total.
async function collect(stream, total, step, name) {
  const reader = stream.getReader();
  let bytes = new Uint8Array(total > 0 && total <= limit ? total : 1 << 20);
  let done = 0;
  for (;;) {
    const part = await reader.read();
    if (part.done) break;
    if (done + part.value.length > limit) {
      reader.cancel();
      throw new Error(tooLarge(name, Math.max(total, done + part.value.length)));
    }
    if (done + part.value.length > bytes.length) {
      const larger = new Uint8Array(Math.min(limit, Math.max(2 * bytes.length, done + part.value.length)));
      larger.set(bytes.subarray(0, done));
      bytes = larger;
    }
    bytes.set(part.value, done);
    done += part.value.length;
    if (!step(done)) {
      reader.cancel();
      throw new Error("cancelled");
    }
  }
  return done === bytes.length ? bytes : bytes.slice(0, done);
}

async function asked(url) {
  let response;
  try {
    response = await fetch(url, { credentials: "same-origin" });
  } catch (error) {
    const other = new URL(url, document.baseURI).origin !== location.origin;
    const hint = other ? "; the server must be reachable and allow other pages to read it (CORS)" : "";
    throw new Error(`cannot be fetched: ${error.message}${hint}: ${url}`);
  }
  if (!response.ok) throw new Error(`the server answered ${response.status} ${response.statusText}: ${url}`);
  return response;
}

// The files of a path: of this machine, of a run of the server, or at an address.
async function listed(path) {
  const file = kept.get(path);
  if (file) return [{ name: file.name, size: file.size, stream: async () => file.stream() }];
  if (path.startsWith("local/")) {
    throw new Error("this file was opened from this machine, and a page cannot open it again: drop it on the window");
  }
  if (path.startsWith("run/")) {
    const id = path.split("/")[1];
    const facts = await (await asked(`api/v1/runs/${encodeURIComponent(id)}`)).json();
    const read = facts.files.filter((one) => one.is_read);
    if (read.length === 0) throw new Error("the server has no files of this run");
    return read.map((one) => ({
      name: one.name,
      host: one.host,
      size: one.bytes ?? 0,
      url: `api/v1/runs/${encodeURIComponent(id)}/files/${one.n}`,
    }));
  }
  const url = new URL(path, document.baseURI);
  if (!["http:", "https:"].includes(url.protocol)) throw new Error(`a page can read only http and https: ${path}`);
  return [{ name: decodeURIComponent(url.pathname.split("/").pop()) || "profile", size: 0, url: url.href }];
}

async function read(path, step) {
  const files = await listed(path);
  const sizes = files.map((file) => file.size);
  const before = files.map(() => 0);
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  if (sum(sizes) > limit) throw new Error(tooLarge(files.map((file) => file.name).join(", "), sum(sizes)));
  const read = [];
  for (const [at, file] of files.entries()) {
    let stream;
    if (file.stream) {
      stream = await file.stream();
    } else {
      const response = await asked(file.url);
      // Of a compressed answer the length says nothing about the bytes that arrive.
      const packed = response.headers.get("content-encoding");
      if (!packed) sizes[at] = Number(response.headers.get("content-length")) || file.size;
      if (sizes[at] > limit) throw new Error(tooLarge(file.name, sizes[at]));
      stream = response.body;
    }
    const bytes = await collect(stream, sizes[at], (done) => {
      before[at] = done;
      return step(false, sum(before), sum(sizes));
    }, file.name);
    read.push({ name: file.name, host: file.host ?? undefined, bytes });
  }
  return imported(read, step);
}

// Imports files in a worker, which keeps the page alive meanwhile and can be stopped at any time.
function imported(files, step) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    let at = [0, 0];
    const watching = setInterval(() => {
      if (!step(true, at[0], at[1])) end(() => reject(new Error("cancelled")));
    }, 30);
    function end(then) {
      clearInterval(watching);
      worker.terminate();
      then();
    }
    worker.onerror = (event) => end(() => reject(new Error(`the import stopped: ${event.message || "the worker did not start"}`)));
    worker.onmessage = ({ data }) => {
      if (data.progress) at = data.progress;
      if (data.error) end(() => reject(new Error(data.error)));
      if (data.snapshot) end(() => resolve({ files: data.files, snapshot: data.snapshot }));
    };
    // The bytes move to the worker and back: they are never twice in memory.
    worker.postMessage({ module, files }, files.map((file) => file.bytes.buffer));
  });
}

globalThis.systolePage = {
  keep,
  read,
  keepBytes: (name, bytes) => keep(new File([bytes], name)),
  pick: () => new Promise((resolve) => {
    const input = document.createElement("input");
    input.type = "file";
    input.onchange = () => resolve(input.files[0] ? keep(input.files[0]) : null);
    input.oncancel = () => resolve(null);
    input.click();
  }),
  save: (name, bytes) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes]));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  },
  showAddress: (paths, place) => {
    const parts = new URLSearchParams();
    const names = ["trace", "compare"];
    paths.slice(0, 2).forEach((path, at) => {
      if (path.startsWith("local/")) return;
      const run = path.startsWith("run/");
      parts.set(at === 0 && run ? "run" : names[at], run ? path.split("/")[1] : path);
    });
    const text = parts.toString();
    history.replaceState(null, "", `${location.pathname}${text && `?${text}`}${place && `#${place}`}`);
  },
  started: () => {
    shell.hidden = true;
    performance.mark("systole-started");
  },
  stopped: (why) => fail(`The window stopped, which is a mistake in Systole. Files are unchanged.\n\n${why}`),
};

// What tests and scripts read.
globalThis.systole = { state: () => JSON.parse(state() || "{}"), memory: () => memory_bytes() };

// Whether a server of Systole is behind this page, and its runs.
async function runs() {
  try {
    const health = await fetch("api/v1/health");
    if (!health.ok || !(health.headers.get("content-type") ?? "").includes("json")) return null;
    const answer = await fetch("api/v1/runs?limit=200");
    if (!answer.ok) return null;
    return await answer.json();
  } catch {
    return null;
  }
}

// The path of what the address names: `run` is an id, `compare` an id if `run` is there, else an address.
function wanted() {
  const paths = [];
  if (query.has("run")) {
    paths.push(`run/${query.get("run")}/run`);
    if (query.has("compare")) paths.push(`run/${query.get("compare")}/run`);
  } else {
    for (const name of ["trace", "compare"]) if (query.get(name)) paths.push(query.get(name));
  }
  return paths;
}

try {
  module = await WebAssembly.compileStreaming(fetch(new URL("./systole_bg.wasm", import.meta.url)));
  await init({ module_or_path: module });
  await start(document.getElementById("window"), wanted(), location.hash.slice(1));
} catch (error) {
  fail(`The window cannot start: ${error?.message ?? error}\n\nIt needs WebAssembly and WebGL.`);
}
