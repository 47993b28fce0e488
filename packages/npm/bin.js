#!/usr/bin/env node
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { missing, program } = require("./program.js");

const installed = program();
if (installed === undefined) {
  console.error(`error: ${missing()}`);
  process.exit(127);
}
const child = spawn(installed, process.argv.slice(2), { stdio: "inherit" });
// On Windows its console has told the program already, and to pass a signal on is to kill it.
const passOn = process.platform === "win32" ? () => {} : (signal) => child.kill(signal);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, passOn);
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
