import { CallError, createApi, isAborted, messageOf } from './api.js';
import { showDocuments } from './documents.js';
import {
  announce,
  byId,
  contentOf,
  el,
  showError,
  showLoading,
} from './dom.js';
import { clearEnding, showEnding } from './ending.js';
import { follow } from './follow.js';
import { showPerson } from './person.js';
import { createQueries } from './queries.js';
import { showRecord } from './record.js';
import { Session } from './session.js';

const session = new Session(showEnding);
/** Reconnects with a renewed token. @type {() => void} */
let goOn = () => undefined;

addEventListener('hashchange', takeToken);
// Expands all sections for printing, and loads one more part of each list.
addEventListener('beforeprint', () => {
  const { activeElement } = document;
  for (const part of document.querySelectorAll('details')) part.open = true;
  for (const button of document.querySelectorAll('button'))
    if (button.closest('.more') !== null) button.click();
  if (activeElement instanceof HTMLElement) activeElement.focus();
});
takeToken();
if (session.authorization === 'Bearer ') showEnding('none');

/** A host application passes a new token in the same way, without reloading the page. */
function takeToken() {
  const taken = session.takeToken();
  if (taken === 'new') start();
  if (taken === 'renewed') goOn();
}

function start() {
  clearEnding();
  const api = createApi(session);
  let hasRecord = false;
  /** Sections that could not be loaded, with a function to try again. @type {Map<string, () => Promise<void>>} */
  const missing = new Map();

  /** @param {string} id of the section @param {string} what @param {() => Promise<unknown>} work */
  async function load(id, what, work) {
    const again = () => load(id, what, work);
    missing.delete(id);
    showLoading(contentOf(id), what.toLowerCase());
    try {
      await work();
    } catch (error) {
      if (isAborted(error) || session.signal.aborted) return;
      if (error instanceof CallError && error.status === 404)
        return session.end('gone');
      missing.set(id, again);
      showError(contentOf(id), messageOf(error, what), () => void again());
    }
  }
  const loadRecord = () =>
    load('record', 'The record', async () => {
      hasRecord = await showRecord(await api.open('summary'));
    });
  const loadDocuments = () =>
    load('documents', 'The documents', async () => {
      const { documents } = await api.read(
        `document?patientId=${api.patient}&output=dto`,
      );
      showDocuments(documents, api);
    });
  const refresh = () => Promise.all([loadRecord(), loadDocuments()]);

  const queries = createQueries({
    onNewData: () => {
      // Does not replace what the reader is reading: new data is shown on request, unless the record was empty.
      if (hasRecord) offerRefresh(refresh);
      else void refresh();
    },
  });

  showLoading(contentOf('queries'), 'the queries');
  void load('person', 'The patient', async () => {
    const path = `patient/${api.patient}`;
    const [patient, { cohorts }] = await Promise.all([
      api.read(path),
      api.read(`${path}/cohort`),
    ]);
    showPerson(patient, cohorts);
  });
  void refresh();
  goOn = () =>
    void follow(session, api, {
      onQueries: queries.update,
      onBack: () => {
        for (const again of missing.values()) void again();
      },
    });
  goOn();
}

/** @param {() => Promise<unknown>} refresh */
function offerRefresh(refresh) {
  const title = byId('record-title');
  if (byId('record').querySelector('.news') !== null) return;
  const news = el(
    'div.news',
    {},
    el('p', {}, 'A query has ended and may have delivered new data.'),
    el(
      'button',
      {
        type: 'button',
        onclick: async () => {
          news.remove();
          title.focus();
          await refresh();
          announce('The record is up to date.');
        },
      },
      'Show it',
    ),
  );
  title.after(news);
}
