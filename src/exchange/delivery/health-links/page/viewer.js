// Opens the SMART Health Link in the address's fragment, which browsers send to nobody, and shows the document's sections.

import { narrativeOf } from './narrative.js';

/** @typedef {{ url: string, key: string, exp?: number, flag?: string, label?: string }} HealthLink */
/** @typedef {{ resourceType: string, [name: string]: any }} Resource */

/** @param {string} id @returns {HTMLElement} */
function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no #${id}`);
  return element;
}

/** @param {string} id */
const field = (id) => /** @type {HTMLInputElement} */ (byId(id));
/** @param {string} text */
const say = (text) => {
  byId('message').textContent = text;
};

/** What a reader can do about it. */
class Told extends Error {}

/** @param {string} text base64url @returns {Uint8Array<ArrayBuffer>} */
function bytesOf(text) {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

/** @param {Uint8Array<ArrayBuffer>} bytes */
const textOf = (bytes) => new TextDecoder().decode(bytes);

/** @returns {HealthLink} */
function linkInAddress() {
  const [, payload] = /^#shlink:\/([\w-]+)$/.exec(location.hash) ?? [];
  try {
    const link = /** @type {HealthLink} */ (
      JSON.parse(textOf(bytesOf(payload ?? '')))
    );
    if (
      new URL(link.url).origin !== location.origin ||
      bytesOf(link.key).length !== 32
    )
      throw new Error();
    return link;
  } catch {
    throw new Told(
      'This address has no health link of this service, or not all of it. Copy the whole link.',
    );
  }
}

/** @param {HealthLink} link @param {string} flag */
const hasFlag = (link, flag) => (link.flag ?? '').includes(flag);

/** @param {Response} response */
async function checked(response) {
  if (response.ok) return response;
  const { remainingAttempts } = await response.json().catch(() => ({}));
  if (response.status === 401 && remainingAttempts > 0)
    throw new Told(
      `The passcode is wrong. ${remainingAttempts} more ${remainingAttempts === 1 ? 'attempt' : 'attempts'}.`,
    );
  if (response.status === 401)
    throw new Told('The passcode was wrong too often. Ask for a new link.');
  if (response.status === 404)
    throw new Told(
      'This link has ended: it has expired, was revoked or was opened before. Ask for a new one.',
    );
  if (response.status === 429)
    throw new Told(
      'This link was opened often in the last minute. Try again in a minute.',
    );
  throw new Told('The summary cannot be fetched now. Try again later.');
}

/** The encrypted files. @param {HealthLink} link @param {string} recipient @param {string} passcode @returns {Promise<string[]>} */
async function filesOf(link, recipient, passcode) {
  const body = JSON.stringify({
    recipient,
    ...(hasFlag(link, 'P') && { passcode }),
  });
  const headers = { 'content-type': 'application/json' };
  const manifest = await (
    await checked(await fetch(link.url, { method: 'POST', headers, body }))
  ).json();
  return Promise.all(
    manifest.files.map(
      /** @param {{ embedded?: string, location: string }} file */
      async ({ embedded, location: at }) =>
        embedded ?? (await checked(await fetch(at))).text(),
    ),
  );
}

/** A JWE in compact form: alg dir, enc A256GCM. @param {string} file @param {string} key @returns {Promise<Resource>} */
async function decrypted(file, key) {
  const [header = '', , iv = '', content = '', tag = ''] = file.split('.');
  const secret = await crypto.subtle.importKey(
    'raw',
    bytesOf(key),
    'AES-GCM',
    false,
    ['decrypt'],
  );
  const sealed = new Uint8Array([
    ...[bytesOf(content), bytesOf(tag)].flatMap((part) => [...part]),
  ]);
  const algorithm = {
    name: 'AES-GCM',
    iv: bytesOf(iv),
    additionalData: new TextEncoder().encode(header),
  };
  return JSON.parse(
    textOf(
      new Uint8Array(await crypto.subtle.decrypt(algorithm, secret, sealed)),
    ),
  );
}

/** @param {Resource} bundle */
function show(bundle) {
  const resources = /** @type {Resource[]} */ (
    bundle.entry.map((/** @type {any} */ each) => each.resource)
  );
  const composition = resources.find(
    (each) => each.resourceType === 'Composition',
  );
  const patient = resources.find((each) => each.resourceType === 'Patient');
  if (composition === undefined || patient === undefined)
    throw new Told('The link holds no patient summary.');
  const [name] = patient.name ?? [];
  const title =
    name?.text ??
    [...(name?.given ?? []), name?.family].filter(Boolean).join(' ');
  byId('title').textContent = title || 'Patient summary';
  const made = new Date(composition.date).toLocaleString('en-GB', {
    dateStyle: 'medium',
    timeStyle: 'short',
  });
  byId('person').replaceChildren(narrativeOf(composition.text?.div ?? ''));
  byId('about').textContent = `${composition.title}, made ${made}`;
  byId('document').replaceChildren(
    contentsOf(composition.section),
    ...composition.section.map(
      (/** @type {any} */ section, /** @type {number} */ index) =>
        sectionOf(section, index),
    ),
  );
  byId('ask').hidden = true;
  byId('title').focus();
}

/** @param {Resource[]} sections */
function contentsOf(sections) {
  const nav = document.createElement('nav');
  nav.setAttribute('aria-label', 'Sections');
  const list = document.createElement('ul');
  for (const [index, { title }] of sections.entries()) {
    const link = document.createElement('a');
    // The fragment of the address is the link itself, so that the page can be opened again.
    link.href = `#section-${index}`;
    link.textContent = title;
    link.addEventListener('click', (event) => {
      event.preventDefault();
      byId(`section-${index}`).focus();
    });
    const item = document.createElement('li');
    item.append(link);
    list.append(item);
  }
  nav.append(list);
  return nav;
}

/** @param {Resource} section @param {number} index */
function sectionOf({ title, text }, index) {
  const element = document.createElement('section');
  const heading = document.createElement('h2');
  heading.id = `section-${index}`;
  heading.tabIndex = -1;
  heading.textContent = title;
  element.setAttribute('aria-labelledby', heading.id);
  element.append(heading, narrativeOf(text?.div ?? ''));
  return element;
}

/** @param {HealthLink} link */
function ask(link) {
  byId('ask').hidden = false;
  byId('passcode-line').hidden = !hasFlag(link, 'P');
  field('passcode').required = hasFlag(link, 'P');
  byId('once').hidden = hasFlag(link, 'L');
  if (link.label) byId('about').textContent = `Shared with you: ${link.label}`;
  byId('ask').addEventListener('submit', async (event) => {
    event.preventDefault();
    const button = /** @type {HTMLButtonElement} */ (byId('open'));
    button.disabled = true;
    say('Opening…');
    try {
      const files = await filesOf(
        link,
        field('recipient').value.trim(),
        field('passcode').value,
      );
      const [bundle] = await Promise.all(
        files.map((file) => decrypted(file, link.key)),
      );
      if (bundle === undefined)
        throw new Told('The link holds no patient summary.');
      say('');
      show(bundle);
    } catch (error) {
      say(
        error instanceof Told
          ? error.message
          : 'The summary cannot be opened here. Try again later.',
      );
      button.disabled = false;
    }
  });
  field('recipient').focus();
}

try {
  ask(linkInAddress());
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
}
