import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

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
  if (!existsSync(cache) && versionOf('mvn', ['-v']) === undefined) return 'it needs Maven (mvn)';
  return undefined;
}

function versionOf(command: string, args: string[]): string | undefined {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return undefined;
  }
}

/** Fetches the libraries and compiles the class, unless the cache has them. Complete or absent: renamed at the end. */
export function buildJava({ project, mainClass, cache }: JavaProject): void {
  if (existsSync(cache)) return;
  const building = `${cache}.${process.pid}`;
  mkdirSync(building, { recursive: true });
  try {
    const libs = join(building, 'libs');
    const copy = ['-q', '-B', '-f', join(project, 'pom.xml'), 'dependency:copy-dependencies'];
    execFileSync('mvn', [...copy, `-DoutputDirectory=${libs}`], { stdio: 'inherit' });
    const source = join(project, `${mainClass}.java`);
    execFileSync('javac', ['-d', join(building, 'classes'), '-cp', join(libs, '*'), source], {
      stdio: 'inherit',
    });
    renameSync(building, cache);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
}

export const classPathOf = (cache: string): string =>
  [join(cache, 'libs', '*'), join(cache, 'classes')].join(':');
