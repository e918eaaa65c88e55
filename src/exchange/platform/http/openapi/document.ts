import { COMPONENT, componentName } from './open-api-document.ts';

type JsonValue =
  | null
  | boolean
  | number
  | string
  | JsonValue[]
  | { [name: string]: JsonValue };
export type OpenApiJson = { [name: string]: JsonValue };

/**
 * Simplifies the generated document: removes unused schemas, removes the suffix
 * `Input` where the name is then still unique, allows additional members in
 * responses (for later versions), removes patterns that a `format` already
 * implies, and writes pairs as lists of two, because generators of clients do
 * not know `prefixItems`.
 */
export function tidyDocument(document: OpenApiJson): OpenApiJson {
  const schemas = childObject(childObject(document, 'components'), 'schemas');
  const paths = tidy(document.paths ?? {}, false);
  const webhooks = tidy(document.webhooks ?? {}, false);
  const used = reachable([paths, webhooks], schemas);
  const tidySchemas = new Map(
    [...used]
      .sort()
      .map((name) => [name, tidy(schemas[name] ?? {}, name.endsWith('Input'))]),
  );
  const names = new Map(
    [...used].map((name) => [name, shortName(name, tidySchemas)]),
  );
  const kept = Object.fromEntries(
    [...tidySchemas].map(([name, schema]) => [names.get(name) ?? name, schema]),
  );
  const tidied = {
    ...document,
    paths,
    webhooks,
    components: { ...childObject(document, 'components'), schemas: kept },
  };
  return renameReferences(tidied, names) as OpenApiJson;
}

/**
 * The name without `Input`, unless a different schema already has that name.
 */
function shortName(
  name: string,
  schemas: ReadonlyMap<string, JsonValue>,
): string {
  const short = name.replace(/Input$/, '');
  const sameName = schemas.get(short);
  const isFree =
    sameName === undefined ||
    JSON.stringify(sameName) === JSON.stringify(schemas.get(name));
  return isFree ? short : name;
}

function reachable(from: JsonValue, schemas: OpenApiJson): Set<string> {
  const found = new Set<string>();
  const waiting: JsonValue[] = [from];
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    if (part === null || typeof part !== 'object') continue;
    const name = Array.isArray(part) ? undefined : componentName(part);
    if (name !== undefined && !found.has(name)) {
      found.add(name);
      waiting.push(schemas[name] ?? null);
    }
    waiting.push(...Object.values(part));
  }
  return found;
}

/**
 * @param isInput whether the value is part of a request; strict request schemas
 *   stay strict
 */
function tidy(value: JsonValue, isInput: boolean): JsonValue {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((item) => tidy(item, isInput));
  if (Array.isArray(value.prefixItems)) {
    const { prefixItems, ...list } = value;
    const bounds = {
      minItems: prefixItems.length,
      maxItems: prefixItems.length,
    };
    return tidy({ ...list, items: prefixItems[0] ?? {}, ...bounds }, isInput);
  }
  const entries = Object.entries(value).flatMap(
    ([name, child]): [string, JsonValue][] => {
      if (name === 'additionalProperties' && child === false && !isInput)
        return [];
      if (name === 'pattern' && typeof value.format === 'string') return [];
      return [[name, tidy(child, isInput || name === 'requestBody')]];
    },
  );
  return Object.fromEntries(entries);
}

function renameReferences(
  value: JsonValue,
  names: ReadonlyMap<string, string>,
): JsonValue {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value))
    return value.map((item) => renameReferences(item, names));
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => {
      const component =
        name === '$ref' ? componentName({ $ref: child }) : undefined;
      if (component === undefined)
        return [name, renameReferences(child, names)];
      return [name, `${COMPONENT}${names.get(component) ?? component}`];
    }),
  );
}

function childObject(parent: OpenApiJson, name: string): OpenApiJson {
  const child = parent[name];
  return child !== null && typeof child === 'object' && !Array.isArray(child)
    ? child
    : {};
}
