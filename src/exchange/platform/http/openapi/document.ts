type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

const COMPONENT = '#/components/schemas/';

/**
 * Makes the generated document a readable one: only schemas that an operation uses, without the suffix `Input` where
 * nothing else has the name, answers open to members of later versions, and no regular expression where a format
 * says the same.
 */
export function tidyDocument(document: JsonObject): JsonObject {
  const schemas = childObject(childObject(document, 'components'), 'schemas');
  const paths = tidy(document.paths ?? {}, false);
  const used = reachable(paths, schemas);
  const tidySchemas = new Map(
    [...used].sort().map((name) => [name, tidy(schemas[name] ?? {}, name.endsWith('Input'))]),
  );
  const names = new Map([...used].map((name) => [name, shortName(name, tidySchemas)]));
  const kept = Object.fromEntries(
    [...tidySchemas].map(([name, schema]) => [names.get(name) ?? name, schema]),
  );
  const tidied = {
    ...document,
    paths,
    components: { ...childObject(document, 'components'), schemas: kept },
  };
  return renameReferences(tidied, names) as JsonObject;
}

/** Without `Input`, unless an answer has a schema of that name that differs. */
function shortName(name: string, schemas: ReadonlyMap<string, Json>): string {
  const short = name.replace(/Input$/, '');
  const sameName = schemas.get(short);
  const isFree = sameName === undefined || JSON.stringify(sameName) === JSON.stringify(schemas.get(name));
  return isFree ? short : name;
}

function reachable(from: Json, schemas: JsonObject): Set<string> {
  const found = new Set<string>();
  const waiting: Json[] = [from];
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    if (part === null || typeof part !== 'object') continue;
    const name = Array.isArray(part) ? undefined : componentOf(part.$ref);
    if (name !== undefined && !found.has(name)) {
      found.add(name);
      waiting.push(schemas[name] ?? null);
    }
    waiting.push(...Object.values(part));
  }
  return found;
}

/** @param isInput a strict request schema stays strict */
function tidy(value: Json, isInput: boolean): Json {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((item) => tidy(item, isInput));
  const entries = Object.entries(value).flatMap(([name, child]): [string, Json][] => {
    if (name === 'additionalProperties' && child === false && !isInput) return [];
    if (name === 'pattern' && typeof value.format === 'string') return [];
    return [[name, tidy(child, isInput || name === 'requestBody')]];
  });
  return Object.fromEntries(entries);
}

function renameReferences(value: Json, names: ReadonlyMap<string, string>): Json {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((item) => renameReferences(item, names));
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => {
      const component = name === '$ref' ? componentOf(child) : undefined;
      if (component === undefined) return [name, renameReferences(child, names)];
      return [name, `${COMPONENT}${names.get(component) ?? component}`];
    }),
  );
}

function componentOf(reference: Json | undefined): string | undefined {
  return typeof reference === 'string' && reference.startsWith(COMPONENT)
    ? reference.slice(COMPONENT.length)
    : undefined;
}

function childObject(parent: JsonObject, name: string): JsonObject {
  const child = parent[name];
  return child !== null && typeof child === 'object' && !Array.isArray(child) ? child : {};
}
