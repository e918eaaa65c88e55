// Reads vitest's JSON reports of a CI run.
//   report.mjs failed-files <report>          the files that failed, a line each
//   report.mjs count <report> [<second try>]  the last line of CI; exit code 0 only when nothing failed
import { readFileSync } from 'node:fs';

const [command, firstPath, secondPath] = process.argv.slice(2);

const read = (path) => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).testResults;
  } catch {
    return [];
  }
};
const withStatus = (files, ...statuses) =>
  files.flatMap(({ assertionResults }) => assertionResults.filter(({ status }) => statuses.includes(status)));
// A file that could not even be loaded has no test that could have failed.
const unloaded = (files) =>
  files.filter((file) => file.status === 'failed' && withStatus([file], 'failed').length === 0);

const first = read(firstPath);
const failedFiles = first.filter(({ status }) => status === 'failed');

if (command === 'failed-files') {
  for (const { name } of failedFiles) console.log(name);
} else {
  const second = new Map(read(secondPath).map((file) => [file.name, file]));
  const files = first.map((file) => (file.status === 'failed' && second.get(file.name)) || file);
  // Each of these is a race in a test or in the product: it does not fail this run, and is to be mended.
  for (const file of failedFiles.filter(({ name }) => second.get(name)?.status === 'passed')) {
    const names = withStatus([file], 'failed').map(({ fullName }) => fullName);
    for (const name of names.length > 0 ? names : [file.name])
      console.log(`Flaky, passed only at the second try: ${name}`);
  }
  const passed = withStatus(files, 'passed').length;
  const failed = withStatus(files, 'failed').length + unloaded(files).length;
  const skipped = withStatus(files, 'pending', 'skipped', 'todo', 'disabled').length;
  if (first.length === 0) console.log('There is no test report.');
  if (skipped > 0) console.log(`${skipped} skipped`);
  console.log(`${passed} passed, ${first.length === 0 ? 1 : failed} failed`);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
}
