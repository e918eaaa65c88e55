import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { describe } from 'vitest';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
const [executablePath] = (process.env.PATH ?? '')
  .split(delimiter)
  .flatMap((folder) => NAMES.map((name) => join(folder, name)))
  .filter((path) => existsSync(path));

export const hasChromium = executablePath !== undefined;
/** A `describe` that is left out where there is no browser. */
export const describeInChromium = describe.skipIf(!hasChromium);

/**
 * Its socket lies below TMPDIR, and a path of a socket has 103 bytes at most
 * (macOS; 107 on Linux).
 */
const IN_TMPDIR = 'org.chromium.Chromium.XXXXXX/SingletonSocket';
const socketFolder = () =>
  Buffer.byteLength(join(tmpdir(), IN_TMPDIR)) > 103 ? '/tmp' : tmpdir();

export const launchChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath,
    env: { ...process.env, TMPDIR: socketFolder() },
    args: [
      '--no-sandbox',
      '--disable-dev-shm-usage',
      '--disable-gpu',
      // It asks for nothing of its own.
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
