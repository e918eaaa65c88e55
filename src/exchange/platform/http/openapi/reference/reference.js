/** What the API reference can do with a script: search, copy examples, and send requests. */

// On a phone the contents stay folded.
if (matchMedia('(min-width: 62rem)').matches)
  for (const part of document.querySelectorAll('nav details'))
    part.setAttribute('open', '');

// What an address names is shown whole.
const openTarget = () => {
  const target = document.getElementById(location.hash.slice(1));
  target
    ?.closest('article')
    ?.querySelector('details.more')
    ?.setAttribute('open', '');
  target?.scrollIntoView();
};
addEventListener('hashchange', openTarget);
openTarget();

const search = document.querySelector('#search');
if (search instanceof HTMLFormElement) {
  search.hidden = false;
  const articles = [...document.querySelectorAll('main article')].map(
    (article) => ({
      article,
      link: document.querySelector(
        `nav li a[href="#${article.getAttribute('aria-labelledby')}"]`,
      )?.parentElement,
      text: (article.textContent ?? '').toLowerCase(),
    }),
  );
  const find = () => {
    const words = String(new FormData(search).get('words'))
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== '');
    let found = 0;
    for (const { article, link, text } of articles) {
      const isFound = words.every((word) => text.includes(word));
      article.toggleAttribute('hidden', !isFound);
      link?.toggleAttribute('hidden', !isFound);
      if (isFound) found += 1;
    }
    // A group without anything found is left out.
    for (const group of document.querySelectorAll('main section, nav details'))
      group.toggleAttribute(
        'hidden',
        group.querySelector('article:not([hidden]), li:not([hidden])') === null,
      );
    search
      .querySelector('[role=status]')
      ?.replaceChildren(words.length === 0 ? '' : `${found} found`);
  };
  search.addEventListener('input', find);
  search.addEventListener('submit', (event) => event.preventDefault());
}

// Browsers have no clipboard for pages without TLS.
for (const pre of navigator.clipboard
  ? document.querySelectorAll('.sample > pre')
  : []) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.setAttribute('aria-label', `Copy: ${pre.getAttribute('aria-label')}`);
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(pre.textContent ?? '');
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
  pre.before(button);
}

const keyForm = document.querySelector('#key');
if (keyForm instanceof HTMLFormElement) {
  keyForm.hidden = false;
  keyForm.addEventListener('submit', (event) => event.preventDefault());
}

for (const part of document.querySelectorAll('details.try')) {
  const form = part.querySelector('form');
  const answer = part.querySelector('.answer');
  if (form === null || answer === null) continue;
  part.removeAttribute('hidden');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    answer.replaceChildren('Sending …');
    answer.replaceChildren(...(await send(form)));
  });
}

/**
 * @param {HTMLFormElement} form
 * @returns {Promise<Node[]>} what to show of the answer
 */
async function send(form) {
  const fields = new FormData(form);
  const body = String(fields.get('body') ?? '').trim();
  const key =
    keyForm instanceof HTMLFormElement
      ? String(new FormData(keyForm).get('key'))
      : '';
  const target = new URL(
    (document.body.dataset.base ?? '') + fields.get('target'),
    location.origin,
  );
  // The key goes nowhere else.
  if (target.origin !== location.origin)
    return [paragraph('The path must begin with one slash.')];
  try {
    const response = await fetch(target, {
      method: form.dataset.method,
      headers: {
        'x-api-key': key,
        ...(body === '' ? {} : { 'content-type': 'application/json' }),
      },
      body: body === '' ? undefined : body,
    });
    const pre = document.createElement('pre');
    pre.tabIndex = 0;
    pre.textContent = readable(await response.text());
    return [
      paragraph(`${response.status} ${response.statusText}`),
      ...(pre.textContent === '' ? [] : [pre]),
    ];
  } catch {
    return [
      paragraph(
        'No answer: the service cannot be reached, or the key has characters that a header cannot carry.',
      ),
    ];
  }
}

/** @param {string} text */
function paragraph(text) {
  const element = document.createElement('p');
  element.textContent = text;
  return element;
}

const SHOWN_MAX = 50_000;

/** @param {string} text */
function readable(text) {
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Not JSON: as it is.
  }
  return shown.length > SHOWN_MAX
    ? `${shown.slice(0, SHOWN_MAX)}\n… (shortened)`
    : shown;
}
