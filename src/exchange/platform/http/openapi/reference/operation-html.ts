import { marked } from 'marked';
import { escapeHtml } from '../../../../../lib/escape-html.ts';
import { componentOf, type OpenApiDocument, type OpenApiOperation } from '../open-api-document.ts';
import { code, memberHtml, schemaHtml } from './schema-html.ts';

/** An operation at its address. */
export interface PlacedOperation extends OpenApiOperation {
  method: string;
  path: string;
  /** Further addresses of the same operation. */
  aliases: readonly string[];
}

/** One operation: what it does, its request, its answers and errors. */
export function operationHtml(operation: PlacedOperation, { components }: OpenApiDocument): string {
  const { operationId: id, summary = id, description, method, path, aliases } = operation;
  return `<article aria-labelledby="${id}">
<h3 id="${id}"><a href="#${id}">${escapeHtml(summary)}</a></h3>
<p class="route"><span class="method ${method.toLowerCase()}">${method}</span> ${code(path)}</p>
${aliases.length === 0 ? '' : `<p class="aliases">Also: ${aliases.map(code).join(', ')}</p>`}
${description === undefined ? '' : marked.parse(description, { async: false })}
${parametersHtml(operation)}
${bodyHtml(operation, components.schemas)}
${(operation['x-codeSamples'] ?? []).map(({ source }) => `<h4>Example</h4>\n${sampleHtml(`${summary}: curl command`, source)}`).join('')}
${tryHtml(operation)}
${answersHtml(operation)}
</article>`;
}

function parametersHtml({ parameters = [] }: OpenApiOperation): string {
  if (parameters.length === 0) return '';
  const members = parameters.map(({ name, in: place, required = false, description, schema }) =>
    memberHtml({
      path: name,
      place,
      schemas: [{ ...schema, description: description ?? schema.description }],
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
  return `<h4>Body</h4>\n${schemaHtml(schemas[componentOf(schema) ?? ''] ?? schema)}`;
}

function answersHtml({ summary = '', responses }: OpenApiOperation): string {
  const isSuccess = ([status]: [string, unknown]) => status.startsWith('2');
  const answers = Object.entries(responses)
    .filter(isSuccess)
    .map(([status, { description = '', content = {} }]) => {
      const [[mediaType, { schema, example }] = ['', {}]] = Object.entries(content);
      const type = mediaType === 'application/json' || mediaType === '' ? '' : ` ${code(mediaType)}`;
      return `<h4>Answer ${status}: ${escapeHtml(description.toLowerCase())}${type}</h4>
${schema === undefined ? '' : schemaHtml(schema)}
${example === undefined ? '' : sampleHtml(`${summary}: example of the answer`, JSON.stringify(example, null, 2))}`;
    });
  const failures = Object.entries(responses).filter((response) => !isSuccess(response));
  const errors = failures.map(
    ([status, { description = '' }]) => `<li>${code(status)} ${escapeHtml(description.toLowerCase())}</li>`,
  );
  return `${answers.join('\n')}
<h4>Errors</h4>
${schemaHtml(Object.values(failures[0]?.[1].content ?? {})[0]?.schema ?? {})}
<ul class="errors">${errors.join('')}</ul>`;
}

/** Focusable and labelled, so that it can be scrolled by keyboard; the script adds a button that copies the text. */
export const sampleHtml = (label: string, text: string): string =>
  `<div class="sample"><pre tabindex="0" role="group" aria-label="${escapeHtml(label)}">${escapeHtml(text)}</pre></div>`;

/** A form that sends the request; the script makes it work and visible. */
function tryHtml(operation: PlacedOperation): string {
  const { operationId: id, method, requestBody } = operation;
  const content = requestBody?.content['application/json'];
  const body =
    content === undefined
      ? ''
      : `<label>Body <textarea name="body" rows="8" spellcheck="false">${escapeHtml(content.example === undefined ? '' : JSON.stringify(content.example, null, 2))}</textarea></label>`;
  return `<details class="try" hidden><summary>Try it</summary>
<form id="try-${id}" data-method="${method}">
<label>${method} <input name="target" value="${escapeHtml(sampleTarget(operation))}" spellcheck="false" autocomplete="off"></label>
${body}
<button>Send</button>
<div class="answer" role="status"></div>
</form></details>`;
}

/** Path and query string with the example's values. */
function sampleTarget({ path, parameters = [] }: PlacedOperation): string {
  const valued = parameters.filter(({ example }) => example !== undefined);
  const inPath = valued
    .filter((parameter) => parameter.in === 'path')
    .reduce(
      (target, { name, example }) => target.replace(`{${name}}`, encodeURIComponent(String(example))),
      path,
    );
  const query = valued
    .filter((parameter) => parameter.in === 'query')
    .map(({ name, example }): [string, string] => [name, String(example)]);
  return query.length === 0 ? inPath : `${inPath}?${new URLSearchParams(query)}`;
}
