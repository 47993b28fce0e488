"use strict";

/** Returns the path of this platform's program, if npm has installed the package that holds it. */
exports.program = () => {
  try {
    return require.resolve(`@card-payments/${process.platform}-${process.arch}/card-payments`);
  } catch {
    return undefined;
  }
};

/** Says what is missing where there is no program. */
exports.missing = () =>
  `@card-payments/${process.platform}-${process.arch}, the package that holds the program, is not installed: npm left out optional ` +
  "dependencies, or there is none for this platform";
