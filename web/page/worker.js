// Imports files beside the page: the same module, another instance with memory of its own.
import init, { import_files } from "./systole.js";

// Nothing pauses here, and browsers that do not know how need no more than the name.
WebAssembly.Suspending ??= function (call) { return call; };

// A panic is told before it ends this instance.
globalThis.systolePage = {
  stopped: (why) => self.postMessage({ error: `the import stopped, which is a mistake in Systole: ${why}` }),
};

self.onmessage = async ({ data: { module, files } }) => {
  try {
    await init({ module_or_path: module });
    let told = 0;
    const tell = (done, total) => {
      if (performance.now() - told < 25) return;
      told = performance.now();
      self.postMessage({ progress: [done, total] });
    };
    const hosts = files.map((file) => file.host ?? "");
    const first = (snapshot) => self.postMessage({ first: snapshot }, [snapshot.buffer]);
    const snapshot = import_files(files.map((file) => file.name), hosts, files.map((file) => file.bytes), tell, first);
    const buffers = files.flatMap((file) => file.bytes.map((piece) => piece.buffer));
    self.postMessage({ snapshot, files }, [snapshot.buffer, ...new Set(buffers)]);
  } catch (error) {
    const text = typeof error === "string" ? error : `the import stopped: ${error?.message ?? error}`;
    self.postMessage({ error: text });
  }
};
