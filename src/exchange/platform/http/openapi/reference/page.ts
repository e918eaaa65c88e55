import { marked } from 'marked';
import { escapeHtml } from '../../../../../lib/escape-html.ts';
import type { OpenApiDocument, OpenApiTag } from '../open-api-document.ts';
import { operationHtml, type PlacedOperation, sampleHtml } from './operation-html.ts';
import { schemaHtml } from './schema-html.ts';

interface Group extends OpenApiTag {
  id: string;
  operations: PlacedOperation[];
}

/**
 * The API reference as one page, made of the OpenAPI document. It can be read, searched and printed without its script, which
 * adds copying and sending.
 *
 * @param base path under which the service is reached, without a slash at the end
 */
export function referencePage(document: OpenApiDocument, base: string): string {
  const { info, components } = document;
  const groups = groupsOf(document);
  const schemas = Object.entries(components.schemas);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(info.title)}: API reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}/reference/theme.css">
<link rel="stylesheet" href="${base}/reference/reference.css">
<script type="module" src="${base}/reference/reference.js"></script>
</head>
<body data-base="${escapeHtml(base)}">
<a class="skip" href="#main">Skip to the operations</a>
<header>
<h1>${escapeHtml(info.title)}: API reference</h1>
${marked.parse(info.description ?? '', { async: false })}
<form class="key" id="key" hidden><label>API key, to try operations on this page <input name="key" type="password" autocomplete="off"></label></form>
</header>
<nav aria-label="Operations">
${groups.map(contentsHtml).join('\n')}
<p><a href="#schemas">Schemas</a></p>
</nav>
<main id="main" tabindex="-1">
${groups.map((group) => groupHtml(group, document)).join('\n')}
<section aria-labelledby="schemas">
<h2 id="schemas">Schemas</h2>
${schemas.map(([name, schema]) => `<article aria-labelledby="schema-${name}">\n<h3 id="schema-${name}">${name}</h3>\n${schemaHtml(schema)}\n${(schema.examples ?? []).map((example) => sampleHtml(`Example of ${name}`, JSON.stringify(example, null, 2))).join('')}</article>`).join('\n')}
</section>
</main>
</body>
</html>
`;
}

const contentsHtml = ({ name, operations }: Group): string =>
  `<details><summary>${escapeHtml(capitalized(name))}</summary><ul>
${operations.map(({ operationId, summary = operationId }) => `<li><a href="#${operationId}">${escapeHtml(summary)}</a></li>`).join('\n')}
</ul></details>`;

const groupHtml = ({ id, name, description, operations }: Group, document: OpenApiDocument): string =>
  `<section aria-labelledby="${id}">
<h2 id="${id}">${escapeHtml(capitalized(name))}</h2>
${description === undefined ? '' : `<p>${escapeHtml(description)}</p>`}
${operations.map((operation) => operationHtml(operation, document)).join('\n')}
</section>`;

/** Operations by tag, in the order of the tags; an operation's aliases stand with it. */
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
      .filter(({ operationId, tags: [name] = [] }) => name === tag.name && !operationId.endsWith('Alias'))
      .map((operation) => ({ ...operation, aliases: aliasesOf(operation.operationId) })),
  }));
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
