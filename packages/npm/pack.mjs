#!/usr/bin/env node
// Writes the package, and one of each platform for it: pack.mjs VERSION FOLDER PLATFORM=PROGRAM..., where PLATFORM is linux-x64 and the
// like.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [version, folder, ...platforms] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const license = join(here, "../../LICENSE");
const manifest = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
manifest.version = version;
// npm attests where a package was built only if it names that repository.
const { RELEASE_REPOSITORY } = process.env;
const repository = RELEASE_REPOSITORY && { type: "git", url: `git+${RELEASE_REPOSITORY}.git` };
manifest.repository = repository;
manifest.optionalDependencies = {};

for (const given of platforms) {
  const [platform, program] = given.split("=", 2);
  const [os, cpu] = platform.split("-");
  const name = `@card-payments/${platform}`;
  manifest.optionalDependencies[name] = version;
  const description = `The program card-payments for ${platform}`;
  pack({ name, version, description, license: manifest.license, repository, os: [os], cpu: [cpu] }, [program, license]);
}
pack(manifest, [...manifest.files.map((file) => join(here, file)), join(here, "README.md"), license]);

// As npm packs, but always the same bytes.
function pack(manifest, files) {
  const staged = mkdtempSync(join(tmpdir(), "card-payments-"));
  mkdirSync(join(staged, "package"));
  for (const file of files) copyFileSync(file, join(staged, "package", basename(file)));
  writeFileSync(join(staged, "package/package.json"), JSON.stringify(manifest, null, 2) + "\n");
  const archive = join(folder, `${manifest.name.replace("@", "").replace("/", "-")}-${version}.tgz`);
  const { COMPRESSION = "9", SOURCE_DATE_EPOCH } = process.env;
  const same = ["--sort=name", `--mtime=@${SOURCE_DATE_EPOCH}`, "--owner=0", "--group=0", "--numeric-owner"];
  const gzip = `--use-compress-program=gzip -n -${COMPRESSION}`;
  execFileSync("tar", ["--create", ...same, "--mode=u=rwX,go=rX", gzip, `--file=${archive}`, "-C", staged, "package"]);
  rmSync(staged, { recursive: true });
}
