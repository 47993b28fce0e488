"use strict";

/** Returns the path of this platform's program, if npm has installed the package that holds it. */
exports.program = () => {
  try {
    return require.resolve(`@card-payments/${process.platform}-${process.arch}/card-payments`);
  } catch {
    return undefined;
  }
};
