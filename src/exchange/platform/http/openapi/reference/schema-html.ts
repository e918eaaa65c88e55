import { marked } from 'marked';
import { escapeHtml } from '../../../../../lib/escape-html.ts';
import { componentOf, type OpenApiSchema } from '../open-api-document.ts';
import { formsOf, isRefused, type Member, membersOf } from './members.ts';

export const code = (text: string): string => `<code>${escapeHtml(text)}</code>`;

/** The members of a value as a list; if it has none, its type. */
export function schemaHtml(schema: OpenApiSchema): string {
  const members = membersOf(schema);
  return members.length === 0
    ? `<p>${typeHtml(schema)}</p>${noteHtml(schema)}`
    : `<dl class="members">${members.map(memberHtml).join('\n')}</dl>`;
}

export function memberHtml({ path, place, schemas, isRequired }: Member): string {
  const type = unique(schemas.map(typeHtml)).join(' or ') || 'any value';
  return `<div><dt>${code(path)}${place === undefined ? '' : ` <span class="type">${place}</span>`}${isRequired ? ' <strong>required</strong>' : ''}</dt>
<dd><span class="type">${type}</span>${unique(schemas.map(noteHtml)).join('')}</dd></div>`;
}

/** The type of a value, with its bounds. */
function typeHtml(schema: OpenApiSchema): string {
  const component = componentOf(schema);
  if (component !== undefined) return `<a href="#schema-${component}">${component}</a>`;
  if (isRefused(schema)) return 'not accepted';
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum !== undefined) return schema.enum.map((value) => code(JSON.stringify(value))).join(', ');
  const forms = formsOf(schema);
  if (forms.length > 0) return unique(forms.map(typeHtml)).join(' or ');
  return [plainTypeHtml(schema), ...boundsOf(schema)].join(', ');
}

function plainTypeHtml({ type, format, items, prefixItems, additionalProperties }: OpenApiSchema): string {
  if (type === 'array')
    return `list of ${prefixItems?.length ?? ''} ${typeHtml(items ?? prefixItems?.[0] ?? {})}`;
  if (typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0)
    return `map of ${typeHtml(additionalProperties)}`;
  return escapeHtml(format ?? [type ?? 'any value'].flat().join(' or '));
}

/** Longer patterns explain nothing to a reader; they stand in the OpenAPI document. */
const PATTERN_MAX = 60;

function boundsOf(schema: OpenApiSchema): string[] {
  const { minLength, maxLength, minItems, maxItems, minimum, maximum, maxProperties, pattern } = schema;
  const hasPlainRange = Math.abs(minimum ?? 0) < Number.MAX_SAFE_INTEGER;
  return [
    range(minLength, maxLength, 'characters'),
    range(minItems, maxItems, 'items'),
    range(undefined, maxProperties, 'members'),
    range(hasPlainRange ? minimum : undefined, maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum, ''),
    pattern === undefined || pattern.length > PATTERN_MAX ? undefined : `matching ${code(pattern)}`,
    schema.default === undefined ? undefined : `default ${code(JSON.stringify(schema.default))}`,
  ].flatMap((bound) => bound ?? []);
}

function range(from: number | undefined, to: number | undefined, unit: string): string | undefined {
  if (from === undefined && to === undefined) return undefined;
  const text =
    to === undefined ? `at least ${from}` : from === undefined ? `at most ${to}` : `${from} to ${to}`;
  return `${text} ${unit}`.trimEnd();
}

const noteHtml = ({ description }: OpenApiSchema): string =>
  description === undefined ? '' : `<p>${marked.parseInline(description, { async: false })}</p>`;

const unique = (texts: readonly string[]): string[] => [...new Set(texts)];
