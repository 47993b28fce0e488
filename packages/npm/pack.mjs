#!/usr/bin/env node
// Writes the two packages of one platform: pack.mjs VERSION PROGRAM PLATFORM FOLDER, where PLATFORM is linux-x64 and the like.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [version, program, platform, folder] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const manifest = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
manifest.version = version;
for (const name of Object.keys(manifest.optionalDependencies)) manifest.optionalDependencies[name] = version;

const [os, cpu] = platform.split("-");
const own = {
  name: `@card-payments/${platform}`,
  version,
  description: `The program card-payments for ${platform}`,
  license: manifest.license,
  os: [os],
  cpu: [cpu],
};

const license = join(here, "../../LICENSE");
pack(manifest, [...manifest.files.map((file) => join(here, file)), join(here, "README.md"), license]);
pack(own, [program, license]);

// As npm packs, but always the same bytes.
function pack(manifest, files) {
  const staged = mkdtempSync(join(tmpdir(), "card-payments-"));
  mkdirSync(join(staged, "package"));
  for (const file of files) copyFileSync(file, join(staged, "package", basename(file)));
  writeFileSync(join(staged, "package/package.json"), JSON.stringify(manifest, null, 2) + "\n");
  const archive = join(folder, `${manifest.name.replace("@", "").replace("/", "-")}-${version}.tgz`);
  const { COMPRESSION = "9", SOURCE_DATE_EPOCH = "0" } = process.env;
  const same = ["--sort=name", `--mtime=@${SOURCE_DATE_EPOCH}`, "--owner=0", "--group=0", "--numeric-owner"];
  const gzip = `--use-compress-program=gzip -n -${COMPRESSION}`;
  execFileSync("tar", ["--create", ...same, "--mode=u=rwX,go=rX", gzip, `--file=${archive}`, "-C", staged, "package"]);
  rmSync(staged, { recursive: true });
}
