// What the tests of the window and its measurements share: `systole serve` with runs of samples, and how Chromium is started.
"use strict";
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const samples = path.join(__dirname, "../../assets/samples");
const program = process.env.SYSTOLE ?? path.join(__dirname, "../../target/debug/systole");

// Without a GPU, and without asking the Internet for anything.
const chromiumOptions = {
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--use-gl=angle", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader"],
};

// Runs: `one` and `two` are different programs, `hosts` is of two hosts, `damaged` is no profile.
function logs() {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "systole-web-"));
  const put = (run, name, from) => {
    const folder = path.join(root, "plugins/profile", run);
    fs.mkdirSync(folder, { recursive: true });
    const bytes = from ? fs.readFileSync(path.join(samples, from)) : Buffer.from("this is no profile");
    fs.writeFileSync(path.join(folder, name), bytes);
  };
  put("one", "host.xplane.pb", "synthetic_v5e_8chip_recompile.xplane.pb");
  put("two", "host.trace.json.gz", "synthetic_v5e_8chip_overlap.trace.json.gz");
  for (const host of ["host_a", "host_b"]) put("hosts", `${host}.xplane.pb`, `synthetic_two_hosts/${host}.xplane.pb`);
  put("damaged", "host.xplane.pb", null);
  return root;
}

// Number of slices of a sample, as the program counts them.
function slicesOf(sample) {
  const query = ["query", path.join(samples, sample), "SELECT count(*) FROM slices", "--format", "csv"];
  return Number(execFileSync(program, query).toString().split("\n")[1]);
}

// A run as `systole pack` writes it, with a saved session if there is one.
function packed(session) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "systole-web-"));
  const file = path.join(folder, "run.systole.zip");
  const words = ["pack", path.join(samples, "synthetic_v5e_8chip_recompile.xplane.pb"), "-o", file];
  if (session) {
    fs.mkdirSync(path.join(folder, "systole/sessions"), { recursive: true });
    fs.writeFileSync(path.join(folder, "systole/sessions/night.json"), session);
    words.push("--session", "night");
  }
  execFileSync(program, words, { env: { ...process.env, XDG_CONFIG_HOME: folder }, stdio: ["ignore", "pipe", "ignore"] });
  const bytes = fs.readFileSync(file);
  fs.rmSync(folder, { recursive: true });
  return bytes;
}

// The planes of hosts in a profile.
function hostPlanes(bytes) {
  const kept = [];
  for (let at = 0; at < bytes.length;) {
    const begin = at++;
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      length |= (bytes[at] & 127) << shift;
      if (bytes[at++] < 128) break;
    }
    const head = bytes.subarray(at, at + 40).toString("latin1");
    at += length;
    if (!head.includes("/device:")) kept.push(bytes.subarray(begin, at));
  }
  return Buffer.concat(kept);
}

// A profile of 26 MB, more than is read at once: a short thread, and a long one whose events have long arguments.
function largeProfile() {
  const varint = (value) => value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)];
  const number = (field, value) => Buffer.from([field << 3, ...varint(value)]);
  const part = (field, bytes) => Buffer.concat([Buffer.from([(field << 3) | 2, ...varint(bytes.length)]), Buffer.from(bytes)]);
  const message = (field, ...parts) => part(field, Buffer.concat(parts));
  const argument = message(4, number(1, 1), part(5, Buffer.alloc(10_000, "x")));
  const event = (at) => message(4, number(1, 1), number(2, at * 1_000_000), number(3, 500_000), argument);
  const line = (id, name, events) => message(3, number(1, id), part(2, name), ...Array.from({ length: events }, (_, at) => event(at)));
  const name = (field, text) => message(field, number(1, 1), message(2, number(1, 1), part(2, text)));
  return message(1, number(1, 1), part(2, "/host:CPU"), line(1, "short", 3), line(2, "long", 2_600), name(4, "work"), name(5, "note"));
}

class Server {
  // Ends with the server; `port` 0 is any free one.
  static async start(root, port = 0, more = []) {
    const server = new Server();
    server.child = spawn(program, ["serve", root, "--port", String(port), ...more], { stdio: ["ignore", "pipe", "inherit"] });
    const line = await new Promise((resolve, reject) => {
      let text = "";
      server.child.stdout.on("data", (part) => {
        text += part;
        if (text.includes("\n")) resolve(text);
      });
      server.child.once("error", reject);
      server.child.once("exit", (code) => reject(new Error(`systole serve ended with ${code}`)));
    });
    server.address = line.match(/http:\S+/)[0];
    server.port = Number(new URL(server.address).port);
    return server;
  }

  // The id of a run.
  async id(name) {
    const { runs } = await (await fetch(new URL("/api/v1/runs", this.address))).json();
    return runs.find((run) => run.name === name).id;
  }

  stop() {
    const gone = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill("SIGKILL");
    return gone;
  }
}

module.exports = { chromiumOptions, hostPlanes, largeProfile, logs, packed, Server, slicesOf };
