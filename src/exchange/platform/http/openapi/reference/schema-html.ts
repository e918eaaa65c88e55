import { marked } from 'marked';
import { escapeHtml } from '../../../../../lib/escape.ts';
import { componentName, type OpenApiSchema } from '../open-api-document.ts';

export const code = (text: string): string =>
  `<code>${escapeHtml(text)}</code>`;

/** The members of a value as a list; if it has none, its type. */
export function schemaHtml(schema: OpenApiSchema): string {
  const members = membersOf(schema);
  return members.length === 0
    ? `<p>${typeHtml(schema)}</p>${noteHtml(schema)}`
    : `<dl class="members">${members.map(memberHtml).join('\n')}</dl>`;
}

export function memberHtml({
  path,
  place,
  schemas,
  isRequired,
}: Member): string {
  const type = unique(schemas.map(typeHtml)).join(' or ') || 'any value';
  return `<div><dt>${code(path)}${place === undefined ? '' : ` <span class="type">${place}</span>`}${isRequired ? ' <strong>required</strong>' : ''}</dt>
<dd><span class="type">${type}</span>${unique(schemas.map(noteHtml)).join('')}</dd></div>`;
}

/** The type of a value, with its bounds. */
function typeHtml(schema: OpenApiSchema): string {
  const component = componentName(schema);
  if (component !== undefined)
    return `<a href="#schema-${component}">${component}</a>`;
  if (isRefused(schema)) return 'not accepted';
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum !== undefined)
    return schema.enum.map((value) => code(JSON.stringify(value))).join(', ');
  const forms = formsOf(schema);
  if (forms.length > 0) return unique(forms.map(typeHtml)).join(' or ');
  return [plainTypeHtml(schema), ...boundsOf(schema)].join(', ');
}

function plainTypeHtml({
  type,
  format,
  items,
  prefixItems,
  additionalProperties,
}: OpenApiSchema): string {
  if (type === 'array')
    return `list of ${prefixItems?.length ?? ''} ${typeHtml(items ?? prefixItems?.[0] ?? {})}`;
  if (
    typeof additionalProperties === 'object' &&
    Object.keys(additionalProperties).length > 0
  )
    return `map of ${typeHtml(additionalProperties)}`;
  return escapeHtml(format ?? [type ?? 'any value'].flat().join(' or '));
}

/**
 * Longer patterns explain nothing to a reader; they stand in the OpenAPI
 * document.
 */
const PATTERN_MAX = 60;

function boundsOf(schema: OpenApiSchema): string[] {
  const {
    minLength,
    maxLength,
    minItems,
    maxItems,
    minimum,
    maximum,
    maxProperties,
    pattern,
  } = schema;
  const hasPlainRange = Math.abs(minimum ?? 0) < Number.MAX_SAFE_INTEGER;
  return [
    range(minLength, maxLength, 'characters'),
    range(minItems, maxItems, 'items'),
    range(undefined, maxProperties, 'members'),
    range(
      hasPlainRange ? minimum : undefined,
      maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum,
      '',
    ),
    pattern === undefined || pattern.length > PATTERN_MAX
      ? undefined
      : `matching ${code(pattern)}`,
    schema.default === undefined
      ? undefined
      : `default ${code(JSON.stringify(schema.default))}`,
  ].flatMap((bound) => bound ?? []);
}

function range(
  from: number | undefined,
  to: number | undefined,
  unit: string,
): string | undefined {
  if (from === undefined && to === undefined) return undefined;
  const text =
    to === undefined
      ? `at least ${from}`
      : from === undefined
        ? `at most ${to}`
        : `${from} to ${to}`;
  return `${text} ${unit}`.trimEnd();
}

const noteHtml = ({ description }: OpenApiSchema): string =>
  description === undefined
    ? ''
    : `<p>${marked.parseInline(description, { async: false })}</p>`;

const unique = (texts: readonly string[]): string[] => [...new Set(texts)];

/** A member of an object, at any depth: `address[].city`. */
interface Member {
  path: string;
  /** For a parameter: where it stands. */
  place?: string;
  /** Several where the object has one of several forms. */
  schemas: readonly OpenApiSchema[];
  /** Whether the member is required wherever its parent is present. */
  isRequired: boolean;
}

/**
 * All members of a value, with those of nested objects. Components that the
 * value refers to are not followed.
 */
function membersOf(schema: OpenApiSchema, path = ''): Member[] {
  const {
    properties = {},
    required = [],
    items,
    additionalProperties,
  } = schema;
  const own = Object.entries(properties).flatMap(([name, child]): Member[] => {
    const childPath = path === '' ? name : `${path}.${name}`;
    const member = {
      path: childPath,
      schemas: [child],
      isRequired: required.includes(name),
    };
    return [member, ...membersOf(child, childPath)];
  });
  const ofItems = items === undefined ? [] : membersOf(items, `${path}[]`);
  const ofValues =
    typeof additionalProperties === 'object'
      ? membersOf(additionalProperties, `${path}.*`)
      : [];
  return [
    ...own,
    ...ofItems,
    ...ofValues,
    ...membersOfForms(formsOf(schema), path),
  ];
}

/**
 * The forms that a value can have. Alternatives that only restrict a form
 * described elsewhere are not forms.
 */
const formsOf = ({ anyOf, oneOf }: OpenApiSchema): readonly OpenApiSchema[] =>
  (anyOf ?? oneOf ?? []).filter(
    (form) =>
      form.type !== undefined ||
      form.$ref !== undefined ||
      form.const !== undefined ||
      form.enum !== undefined,
  );

/**
 * Members that several forms have stand there once; they are required if every
 * form requires them.
 */
function membersOfForms(
  forms: readonly OpenApiSchema[],
  path: string,
): Member[] {
  const merged = new Map<string, Member[]>();
  for (const member of forms.flatMap((form) => membersOf(form, path)))
    merged.set(member.path, [...(merged.get(member.path) ?? []), member]);
  const objects = forms.filter(({ properties }) => properties !== undefined);
  return [...merged].map(([memberPath, members]) => ({
    path: memberPath,
    schemas: members
      .flatMap(({ schemas }) => schemas)
      .filter((schema) => !isRefused(schema)),
    isRequired:
      members.length >= objects.length &&
      members.every(({ isRequired }) => isRequired),
  }));
}

/** `not: {}`: no value is accepted. */
const isRefused = ({ not }: OpenApiSchema): boolean =>
  not !== undefined && Object.keys(not).length === 0;
