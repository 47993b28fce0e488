"use strict";

const { optionalDependencies = {}, version } = require("./package.json");

const platform = `${process.platform}-${process.arch}`;
const name = `@card-payments/${platform}`;

/** Returns the path of this platform's program, if npm has installed the package that holds it. */
exports.program = () => {
  try {
    return require.resolve(`${name}/card-payments${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    return undefined;
  }
};

/** Says what is missing where there is no program, and how to get it. */
exports.missing = () => {
  const offered = Object.keys(optionalDependencies);
  if (offered.includes(name)) {
    return (
      `${name}, the package that holds the program, is not installed, because optional dependencies were left out: install it by name, ` +
      `npm install ${name}@${version}, or everything again with --include=optional`
    );
  }
  const platforms = offered.map((other) => other.split("/")[1]).join(", ");
  return `there is no program for ${platform} in a package, only for ${platforms}: compile it from the sources, or use the container`;
};
