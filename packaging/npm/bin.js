#!/usr/bin/env node
'use strict';

// Runs the server with the arguments and the terminal of this process, and ends as it does.
const { spawn } = require('node:child_process');
const { binaryPath } = require('./binary.js');

let server;
try {
  server = spawn(binaryPath(), process.argv.slice(2), { stdio: 'inherit' });
} catch (err) {
  console.error(`miniapiserver: ${err.message}`);
  process.exit(1);
}
// A terminal sends SIGINT to both processes, and a second one would end the server at once.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => server.kill('SIGTERM'));
server.on('error', (err) => {
  console.error(`miniapiserver: ${err.message}`);
  process.exit(1);
});
server.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
