import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { marked } from 'marked';
import { escapeHtml } from '../../../../../lib/escape.ts';
import { THEME } from '../../../../../lib/pages/notice-page.ts';
import { sampleTargetOf } from '../examples.ts';
import {
  componentName,
  type OpenApiDocument,
  type OpenApiOperation,
  type OpenApiTag,
} from '../open-api-document.ts';
import { code, memberHtml, schemaHtml } from './schema-html.ts';

const PAGE = readFileSync(new URL('page.html', import.meta.url), 'utf8');

interface Group extends OpenApiTag {
  id: string;
  operations: PlacedOperation[];
}

/**
 * The API reference as one page, made of the OpenAPI document. It can be read
 * and printed without its script, which adds a search, copying and sending.
 *
 * @param base path under which the service is reached, without a slash at the
 *   end
 */
export function referencePage(document: OpenApiDocument, base: string): string {
  const { info, components } = document;
  const groups = groupsOf(document);
  const schemas = Object.entries(components.schemas);
  const parts: Readonly<Record<string, string>> = {
    title: escapeHtml(info.title),
    base,
    safeBase: escapeHtml(base),
    about: marked.parse(info.description ?? '', { async: false }),
    contents: groups.map(contentsHtml).join('\n'),
    operations: groups.map((group) => groupHtml(group, document)).join('\n'),
    schemas: schemas
      .map(
        ([name, schema]) =>
          `<article aria-labelledby="schema-${name}">\n<h3 id="schema-${name}">${name}</h3>\n<details class="more"><summary>Members<span class="named"> of ${name}</span></summary>\n${schemaHtml(schema)}\n${(schema.examples ?? []).map((example) => sampleHtml(`Example of ${name}`, JSON.stringify(example, null, 2))).join('')}</details></article>`,
      )
      .join('\n'),
  };
  return PAGE.replaceAll(/\{(\w+)\}/g, (_, name: string) => parts[name] ?? '');
}

const contentsHtml = ({ name, operations }: Group): string =>
  `<details><summary>${escapeHtml(capitalized(name))}</summary><ul>
${operations.map(({ operationId, summary = operationId }) => `<li><a href="#${operationId}">${escapeHtml(summary)}</a></li>`).join('\n')}
</ul></details>`;

const groupHtml = (
  { id, name, description, operations }: Group,
  document: OpenApiDocument,
): string =>
  `<section aria-labelledby="${id}">
<h2 id="${id}">${escapeHtml(capitalized(name))}</h2>
${description === undefined ? '' : `<p>${escapeHtml(description)}</p>`}
${operations.map((operation) => operationHtml(operation, document)).join('\n')}
</section>`;

/**
 * Operations by tag, in the order of the tags; an operation's aliases stand
 * with it.
 */
function groupsOf({ tags = [], paths }: OpenApiDocument): Group[] {
  const all = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  );
  const aliasesOf = (id: string): string[] =>
    all
      .filter(({ operationId }) => operationId === `${id}Alias`)
      .map(({ method, path }) => `${method} ${path}`);
  return tags.map((tag) => ({
    ...tag,
    id: `tag-${tag.name.replaceAll(' ', '-')}`,
    operations: all
      .filter(
        ({ operationId, tags: [name] = [] }) =>
          name === tag.name && !operationId.endsWith('Alias'),
      )
      .map((operation) => ({
        ...operation,
        aliases: aliasesOf(operation.operationId),
      })),
  }));
}

const capitalized = (text: string): string =>
  text.charAt(0).toUpperCase() + text.slice(1);

/** An operation at its address. */
interface PlacedOperation extends OpenApiOperation {
  method: string;
  path: string;
  /** Further addresses of the same operation. */
  aliases: readonly string[];
}

/** One operation: what it does, its request, its responses and errors. */
function operationHtml(
  operation: PlacedOperation,
  { components }: OpenApiDocument,
): string {
  const {
    operationId: id,
    summary = id,
    description,
    method,
    path,
    aliases,
  } = operation;
  return `<article aria-labelledby="${id}">
<h3 id="${id}"><a href="#${id}">${escapeHtml(summary)}</a></h3>
<p class="route"><span class="method ${method.toLowerCase()}">${method}</span> ${code(path)}</p>
<details class="more"><summary>Request, answer and errors<span class="named">: ${escapeHtml(summary)}</span></summary>
${aliases.length === 0 ? '' : `<p class="aliases">Also: ${aliases.map(code).join(', ')}</p>`}
${description === undefined ? '' : marked.parse(description, { async: false })}
${parametersHtml(operation)}
${bodyHtml(operation, components.schemas)}
${(operation['x-codeSamples'] ?? []).map(({ source }) => `<h4>Example</h4>\n${sampleHtml(`${summary}: curl command`, source)}`).join('')}
${tryHtml(operation)}
${answersHtml(operation)}
</details>
</article>`;
}

function parametersHtml({ parameters = [] }: OpenApiOperation): string {
  if (parameters.length === 0) return '';
  const members = parameters.map(
    ({ name, in: place, required = false, description, schema }) =>
      memberHtml({
        path: name,
        place,
        schemas: [
          { ...schema, description: description ?? schema.description },
        ],
        isRequired: required,
      }),
  );
  return `<h4>Parameters</h4>\n<dl class="members">${members.join('\n')}</dl>`;
}

function bodyHtml(
  { requestBody }: OpenApiOperation,
  schemas: OpenApiDocument['components']['schemas'],
): string {
  const schema = requestBody?.content['application/json']?.schema;
  if (schema === undefined) return '';
  return `<h4>Body</h4>\n${schemaHtml(schemas[componentName(schema) ?? ''] ?? schema)}`;
}

function answersHtml({ summary = '', responses }: OpenApiOperation): string {
  const isSuccess = ([status]: [string, unknown]) => status.startsWith('2');
  const answers = Object.entries(responses)
    .filter(isSuccess)
    .map(([status, { description = '', content = {} }]) => {
      const [[mediaType, { schema, example }] = ['', {}]] =
        Object.entries(content);
      const type =
        mediaType === 'application/json' || mediaType === ''
          ? ''
          : ` ${code(mediaType)}`;
      return `<h4>Answer ${status}: ${escapeHtml(description.toLowerCase())}${type}</h4>
${schema === undefined ? '' : schemaHtml(schema)}
${example === undefined ? '' : sampleHtml(`${summary}: example of the answer`, JSON.stringify(example, null, 2))}`;
    });
  const failures = Object.entries(responses).filter(
    (response) => !isSuccess(response),
  );
  const errors = failures.map(
    ([status, { description = '' }]) =>
      `<li>${code(status)} ${escapeHtml(description.toLowerCase())}</li>`,
  );
  return `${answers.join('\n')}
<h4>Errors</h4>
${schemaHtml(Object.values(failures[0]?.[1].content ?? {})[0]?.schema ?? {})}
<ul class="errors">${errors.join('')}</ul>`;
}

/**
 * Focusable and labelled, so that it can be scrolled by keyboard; the script
 * adds a button that copies the text.
 */
const sampleHtml = (label: string, text: string): string =>
  `<div class="sample"><pre tabindex="0" role="group" aria-label="${escapeHtml(label)}">${escapeHtml(text)}</pre></div>`;

/** A form that sends the request; the script makes it work and visible. */
function tryHtml(operation: PlacedOperation): string {
  const { operationId: id, method, path, requestBody } = operation;
  const content = requestBody?.content['application/json'];
  const body =
    content === undefined
      ? ''
      : `<label>Body <textarea name="body" rows="8" spellcheck="false">${escapeHtml(content.example === undefined ? '' : JSON.stringify(content.example, null, 2))}</textarea></label>`;
  return `<details class="try" hidden><summary>Try it</summary>
<form id="try-${id}" data-method="${method}">
<label>${method} <input name="target" value="${escapeHtml(sampleTargetOf(id) ?? path)}" spellcheck="false" autocomplete="off"></label>
${body}
<button>Send</button>
<div class="answer" role="status"></div>
</form></details>`;
}

/** Only its own script, style and requests. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/**
 * Serves the API reference at `/reference`. The page is made at the first
 * request, when all routes are registered.
 */
export function addReferencePage(
  app: FastifyInstance,
  publicBaseUrl: string,
  readDocument: () => OpenApiDocument,
): void {
  const base = new URL(publicBaseUrl).pathname.replace(/\/$/, '');
  let page: string | undefined;
  app.get(
    '/reference',
    { schema: { hide: true }, config: { operation: 'reference' } },
    (_request, reply) => {
      page ??= referencePage(readDocument(), base);
      return reply
        .headers({
          'content-security-policy': POLICY,
          'cache-control': 'no-cache',
        })
        .type('text/html; charset=utf-8')
        .send(page);
    },
  );
  for (const [file, type, content] of [
    ['theme.css', 'text/css; charset=utf-8', THEME],
    [
      'reference.css',
      'text/css; charset=utf-8',
      readFileSync(new URL('reference.css', import.meta.url)),
    ],
    [
      'reference.js',
      'text/javascript; charset=utf-8',
      readFileSync(new URL('reference.js', import.meta.url)),
    ],
  ] as const)
    app.get(
      `/reference/${file}`,
      { schema: { hide: true }, config: { operation: 'referenceAsset' } },
      (_request, reply) =>
        reply.header('cache-control', 'no-cache').type(type).send(content),
    );
}
