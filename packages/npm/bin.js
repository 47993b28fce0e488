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
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
