/** File by file, the files that it imports. */
export type Imports = ReadonlyMap<string, readonly string[]>;

/**
 * Finds a circle of files that import each other, type imports included: such
 * files can only be read and moved together. Returns the files of one circle,
 * in order; undefined if there is none.
 */
export function circleIn(imports: Imports): string[] | undefined {
  const left = withoutEnds(imports);
  const path: string[] = [];
  let file = left.keys().next().value;
  while (file !== undefined && !path.includes(file)) {
    path.push(file);
    file = left.get(file)?.find((imported) => left.has(imported));
  }
  return file === undefined ? undefined : path.slice(path.indexOf(file));
}

/**
 * Removes the files that import none of the others, until each file that is
 * left imports one that is left.
 */
function withoutEnds(imports: Imports): Imports {
  const left = new Map(imports);
  for (;;) {
    const ends = [...left].filter(
      ([, imported]) => !imported.some((file) => left.has(file)),
    );
    if (ends.length === 0) return left;
    for (const [file] of ends) left.delete(file);
  }
}

/**
 * All groups that import each other in circles, so that each member is reached
 * from every other one of its group.
 */
export function circlesAmong(imports: Imports): string[][] {
  const reached = new Map(
    [...imports.keys()].map((from) => [from, reachedFrom(imports, from)]),
  );
  const groups: string[][] = [];
  for (const [from, targets] of reached) {
    if (groups.some((group) => group.includes(from))) continue;
    const group = [
      from,
      ...[...targets].filter((to) => to !== from && reached.get(to)?.has(from)),
    ];
    if (group.length > 1) groups.push(group);
  }
  return groups;
}

function reachedFrom(imports: Imports, from: string): Set<string> {
  const reached = new Set<string>();
  const left = [...(imports.get(from) ?? [])];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    left.push(...(imports.get(next) ?? []));
  }
  return reached;
}
