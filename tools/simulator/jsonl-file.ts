import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * An append-only file of JSON lines. Each line is written synchronously, so that a killed process loses nothing; an
 * incomplete last line is skipped when the file is read again.
 */
export class JsonlFile {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
    mkdirSync(dirname(path), { recursive: true });
  }

  append(line: object): void {
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`);
  }

  read(): unknown[] {
    if (!existsSync(this.#path)) return [];
    return readFileSync(this.#path, 'utf8').split('\n').flatMap(parseLine);
  }
}

function parseLine(line: string): unknown[] {
  if (line === '') return [];
  try {
    return [JSON.parse(line)];
  } catch {
    return [];
  }
}
