const DEFINITION =
  /^export (?:abstract |async |declare )*(?:class|const|function\*?|interface|let|type) (\w+)/gm;

/** A name, and the files that define and export it. */
export interface RepeatedName {
  name: string;
  files: string[];
}

/**
 * The names that several files define and export, so that a search by name
 * finds more than one thing. A re-export defines nothing.
 *
 * @param texts the text of each file
 * @param fixed names that somebody else prescribes
 */
export function repeatedNames(
  texts: ReadonlyMap<string, string>,
  fixed: ReadonlySet<string>,
): RepeatedName[] {
  const filesByName = new Map<string, Set<string>>();
  for (const [file, text] of texts)
    for (const [, name = ''] of text.matchAll(DEFINITION)) {
      const files = filesByName.get(name) ?? new Set();
      filesByName.set(name, files.add(file));
    }

  return [...filesByName]
    .filter(([name, files]) => files.size > 1 && !fixed.has(name))
    .map(([name, files]) => ({ name, files: [...files] }));
}
