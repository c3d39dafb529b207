'use strict';

// binaryPath returns the path of the server: the one that MINIAPISERVER_BINARY names, or else the one in the package for
// this platform, which npm installs as an optional dependency.
exports.binaryPath = function binaryPath() {
  if (process.env.MINIAPISERVER_BINARY) return process.env.MINIAPISERVER_BINARY;
  const name = `@miniapiserver/${process.platform}-${process.arch}`;
  const file = process.platform === 'win32' ? 'miniapiserver.exe' : 'miniapiserver';
  try {
    return require.resolve(`${name}/${file}`);
  } catch (cause) {
    throw new Error(
      `the package ${name} is not installed: either there is none for this platform, or npm ran with --omit=optional; ` +
        'install it, or name a server in MINIAPISERVER_BINARY', { cause });
  }
};
