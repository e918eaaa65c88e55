import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** In each folder of the cache: hash of the files that it was made from. */
const MARK = 'made-from';

/** A Maven project with one class, whose libraries are fetched once. */
export interface JavaProject {
  /** Folder of `pom.xml` and the class. */
  project: string;
  mainClass: string;
  /** Folder for the libraries and the compiled class. */
  cache: string;
}

/** Why a Java program cannot run here; undefined if it can. */
export function javaMissing(cache: string): string | undefined {
  const javac = versionOf('javac', ['-version']);
  if (javac === undefined || Number(/\d+/.exec(javac)?.[0]) < 17)
    return 'it needs a JDK of version 17 or newer';
  if (
    !existsSync(join(cache, 'libs')) &&
    versionOf('mvn', ['-v']) === undefined
  )
    return 'it needs Maven (mvn)';
  return undefined;
}

function versionOf(command: string, args: string[]): string | undefined {
  try {
    return execFileSync(command, args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    return undefined;
  }
}

/**
 * Fetches the libraries and compiles the class, unless the cache has them
 * already: the libraries of this `pom.xml`, and the class of this source. Each
 * is complete or absent.
 */
export function buildJava({ project, mainClass, cache }: JavaProject): void {
  const pom = join(project, 'pom.xml');
  const source = join(project, `${mainClass}.java`);
  const libs = join(cache, 'libs');
  mkdirSync(cache, { recursive: true });
  make(libs, [pom], (folder) => {
    const copy = [
      '-q',
      '-B',
      '-f',
      pom,
      'dependency:copy-dependencies',
      `-DoutputDirectory=${folder}`,
    ];
    execFileSync('mvn', copy, { stdio: 'inherit' });
  });
  make(join(cache, 'classes'), [pom, source], (folder) => {
    execFileSync('javac', ['-d', folder, '-cp', join(libs, '*'), source], {
      stdio: 'inherit',
    });
  });
}

/**
 * Fills a folder anew if it was made from other files than these. Returns
 * whether it did.
 */
function make(
  folder: string,
  from: readonly string[],
  fill: (folder: string) => void,
): boolean {
  const made = createHash('sha256');
  for (const file of from) made.update(readFileSync(file));
  const mark = made.digest('hex');
  if (readIfThere(join(folder, MARK)) === mark) return false;
  const filling = `${folder}.${process.pid}`;
  try {
    mkdirSync(filling, { recursive: true });
    fill(filling);
    writeFileSync(join(filling, MARK), mark);
    rmSync(folder, { recursive: true, force: true });
    renameSync(filling, folder);
  } finally {
    rmSync(filling, { recursive: true, force: true });
  }
  return true;
}

const readIfThere = (file: string): string | undefined =>
  existsSync(file) ? readFileSync(file, 'utf8') : undefined;

export const classPathOf = (cache: string): string =>
  [join(cache, 'libs', '*'), join(cache, 'classes')].join(':');
