/**
 * Runs one of our TypeScript programs: node run.mjs src/gateway.ts
 * [argument...]
 *
 * Everything that we start is started by it: processes of the stack and of the
 * image, commands, tests' children, threads. The programs are compiled by
 * esbuild into .cache/programs: the first start after a change takes about a
 * second longer, and every other one less than half of the time that compiling
 * on the fly would take (docs/decisions/0168). What is kept counts only while
 * the content of every file that it was made of is the same, so what runs is
 * always what the sources say. Where nothing can be kept (a clone that may only
 * be read), the program runs through tsx.
 */
import { createHash, randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, extname, join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = dirname(fileURLToPath(import.meta.url));
const CACHE = join(ROOT, '.cache/programs');
const COMPILED = pathToFileURL(CACHE).href;
const maps = new Map();
/**
 * A running process may still load a part of what it was started from, weeks
 * later.
 */
const KEPT_MS = 60 * 24 * 60 * 60 * 1000;
/** What decides the result besides the sources. */
const RULES = ['run.mjs', 'tsconfig.json', 'node_modules/.package-lock.json'];

const PACKAGES = `${sep}node_modules${sep}`;
/** Marks a question of our own about where a package is. */
const RESOLVING = {};

const [, , given] = process.argv;
if (given === undefined) {
  process.stderr.write('Usage: node run.mjs <program.ts> [argument...]\n');
  process.exit(2);
}
if (!existsSync(given)) {
  process.stderr.write(`There is no program ${given}.\n`);
  process.exit(2);
}
const entry = realpathSync(given);
const compiled = await compiledProgram();
// As if Node.js had been given the program itself.
process.argv.splice(1, 2, entry);
if (compiled === undefined) process.setSourceMapsEnabled(true);
else
  Error.prepareStackTrace = (error, frames) =>
    [Error.prototype.toString.call(error), ...frames.map(inSources)].join(
      '\n    at ',
    );
await import(pathToFileURL(compiled ?? (await withTsx(entry))).href);

/**
 * A frame of a trace, with the line of the source. Node.js would read the maps
 * of all packages at each start for it, which took a sixth of a worker's; the
 * map of a compiled file is read when a trace first needs it.
 */
function inSources(frame) {
  const [file, line, column] = [
    frame.getFileName(),
    frame.getLineNumber(),
    frame.getColumnNumber(),
  ];
  const entry = file?.startsWith(COMPILED)
    ? mapOf(file)?.findEntry(line - 1, column - 1)
    : undefined;
  if (entry?.originalSource === undefined) return String(frame);
  const place = `${new URL(entry.originalSource, file)}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  return String(frame).replace(`${file}:${line}:${column}`, () => place);
}

function mapOf(file) {
  if (!maps.has(file)) maps.set(file, readMap(file));
  return maps.get(file);
}

function readMap(file) {
  try {
    return new SourceMap(
      JSON.parse(readFileSync(fileURLToPath(`${file}.map`), 'utf8')),
    );
  } catch {
    // A build of two months ago may be gone.
    return undefined;
  }
}

async function compiledProgram() {
  const name = isOurs(entry)
    ? 'all'
    : pathInProject(entry).replaceAll(/[\\/]/g, '+');
  const kept = keptBuild(name);
  if (kept !== undefined) return kept;
  try {
    mkdirSync(CACHE, { recursive: true });
    return await build(
      name,
      isOurs(entry) ? ourPrograms() : [pathInProject(entry)],
    );
  } catch (error) {
    if (error.errors !== undefined)
      throw new Error(`${given} does not compile: ${described(error.errors)}`);
    process.stderr.write(
      `Compiled programs cannot be kept in ${CACHE} (${error.message}): starting ${given} through tsx takes longer.\n`,
    );
    return undefined;
  }
}

async function withTsx(file) {
  const { register } = await import('tsx/esm/api');
  register();
  return file;
}

function pathInProject(file) {
  return relative(ROOT, file).split(sep).join('/');
}

/**
 * Programs of src and tools are compiled together, because they share most of
 * their code; every other one is by itself.
 */
function isOurs(file) {
  return /^(?:src|tools)\//.test(pathInProject(file));
}

function ourPrograms() {
  const all = ['src', 'tools'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true }).map(
      (name) => `${folder}/${name.split(sep).join('/')}`,
    ),
  );
  const programs = all.filter((path) =>
    /^\w+\/(?:[\w-]+|[\w-]+\/main|.+-thread)\.ts$/.test(path),
  );
  return [...new Set([...programs, pathInProject(entry)])].sort();
}

/** The file to run, if what was compiled before is what the sources say now. */
function keptBuild(name) {
  try {
    const { programs, files, hash } = JSON.parse(
      readFileSync(join(CACHE, `${name}.json`), 'utf8'),
    );
    const program = join(CACHE, hash, outputOf(programs, pathInProject(entry)));
    const read = (path) => readFileSync(join(ROOT, path));
    if (
      !programs.includes(pathInProject(entry)) ||
      hashOf(programs, files, read) !== hash
    )
      return undefined;
    if (!existsSync(program)) return undefined;
    touch(join(CACHE, hash));
    return program;
  } catch {
    // Nothing is kept yet, or a source is gone.
    return undefined;
  }
}

/**
 * Compiled from the very contents that are hashed: a file that changes
 * meanwhile makes the next start compile again.
 */
async function build(name, programs) {
  const esbuild = await import('esbuild');
  const aside = join(CACHE, `${process.pid}-${randomBytes(4).toString('hex')}`);
  const contents = new Map(
    RULES.map((path) => [path, readFileSync(join(ROOT, path))]),
  );
  try {
    await esbuild.build({
      absWorkingDir: ROOT,
      entryPoints: programs.map((path) => ({
        in: join(ROOT, path),
        out: outputOf(programs, path).slice(0, -4),
      })),
      outdir: aside,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      sourcemap: true,
      sourcesContent: false,
      logLevel: 'silent',
      define: {
        'import.meta.url': '__fileUrl',
        'import.meta.dirname': '__fileFolder',
      },
      plugins: [{ name: 'sources', setup }],
    });
    const files = [...contents.keys()]
      .filter((path) => !RULES.includes(path))
      .sort();
    const hash = hashOf(programs, files, (path) => contents.get(path));
    moveTo(join(CACHE, hash), aside);
    writeFileSync(`${aside}.json`, JSON.stringify({ programs, files, hash }));
    renameSync(`${aside}.json`, join(CACHE, `${name}.json`));
    removeOld();
    return join(CACHE, hash, outputOf(programs, pathInProject(entry)));
  } catch (error) {
    rmSync(aside, { recursive: true, force: true });
    throw error;
  }

  function setup({ onLoad, onResolve, resolve }) {
    onResolve(
      { filter: /^[^./#]/ },
      async ({ path, importer, kind, resolveDir, pluginData }) => {
        if (pluginData === RESOLVING || kind === 'entry-point')
          return undefined;
        const found = await resolve(path, {
          importer,
          kind,
          resolveDir,
          pluginData: RESOLVING,
        });
        return isEsModule(found.path)
          ? found
          : { path: fromHere(path, found.path), external: true };
      },
    );
    onLoad({ filter: /.*/ }, load);
  }

  function load({ path }) {
    const source = readFileSync(path);
    if (!path.includes(PACKAGES)) contents.set(pathInProject(path), source);
    const text = source.toString();
    // SQL, pages and threads are found beside the source.
    const [url, folder] = [pathToFileURL(path).href, dirname(path)].map(
      (each) => JSON.stringify(each),
    );
    const where = `const [__fileUrl, __fileFolder] = [${url}, ${folder}]; `;
    return extname(path) === '.json'
      ? { contents: text, loader: 'json' }
      : {
          contents: /import\.meta\.(?:url|dirname)/.test(text)
            ? where + text
            : text,
          loader: extname(path) === '.ts' ? 'ts' : 'js',
        };
  }
}

/**
 * Whether a file belongs to a package of ES modules, which is compiled in:
 * Node.js takes half a millisecond for each of some 600. What CommonJS has is
 * left to Node.js, so that each package is there once, whoever requires it.
 */
function isEsModule(path) {
  if (!path.includes(PACKAGES) || extname(path) !== '.js') return false;
  for (
    let folder = dirname(path);
    !folder.endsWith('node_modules');
    folder = dirname(folder)
  ) {
    const file = join(folder, 'package.json');
    if (existsSync(file))
      return JSON.parse(readFileSync(file, 'utf8')).type === 'module';
  }
  return false;
}

/**
 * What the compiled program imports: it would not find a package within another
 * package by its name.
 */
function fromHere(name, path) {
  return path.indexOf(PACKAGES) === path.lastIndexOf(PACKAGES)
    ? name
    : pathToFileURL(path).href;
}

/**
 * Below the build's folder. A program from outside the project has no path that
 * could be repeated there.
 */
function outputOf(programs, path) {
  return programs.length === 1 ? 'program.mjs' : path.replace(/\.ts$/, '.mjs');
}

function hashOf(programs, files, read) {
  const hash = createHash('sha256').update(JSON.stringify([ROOT, programs]));
  for (const path of [...RULES, ...files])
    hash.update(`\0${path}\0`).update(read(path));
  return hash.digest('hex').slice(0, 32);
}

/** Another process may have compiled the same; its result is as good. */
function moveTo(folder, aside) {
  try {
    renameSync(aside, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(aside, { recursive: true, force: true });
    touch(folder);
  }
}

function touch(folder) {
  try {
    utimesSync(folder, new Date(), new Date());
  } catch {
    // Somebody else's, who also removes it.
  }
}

function removeOld() {
  for (const name of readdirSync(CACHE))
    try {
      const { mtimeMs } = statSync(join(CACHE, name));
      if (Date.now() - mtimeMs > KEPT_MS)
        rmSync(join(CACHE, name), { recursive: true });
    } catch {
      // Somebody else's, or removed by another process this moment.
    }
}

function described(errors) {
  return errors
    .map(
      ({ text, location }) =>
        `${location === null ? '' : `${location.file}:${location.line}: `}${text}`,
    )
    .join('\n  ');
}
