import { CallError, createApi, isAborted, messageOf } from './api.js';
import { showDocuments } from './documents.js';
import { announce, byId, contentOf, el, show, showError, showLoading } from './dom.js';
import { eventsOf } from './lines.js';
import { showPerson } from './person.js';
import { createQueries } from './queries.js';
import { showRecord } from './record.js';
import { Session } from './session.js';

const SECTIONS = ['queries', 'record', 'documents', 'person'];
/** Between attempts to come back to the events, in milliseconds; the last one for good. */
const COME_BACK_MS = [1_000, 2_000, 5_000, 15_000, 30_000];

const session = new Session(showEnd);

addEventListener('hashchange', () => {
  // A host that has a new token gives it in the same way, without loading the page anew.
  if (session.takeToken()) start();
});
if (session.takeToken()) start();
else showEnd('none');

function start() {
  document.getElementById('end')?.remove();
  for (const part of ['nav', 'main']) byId(part).hidden = false;
  const api = createApi(session);
  let hasRecord = false;

  const load = (
    /** @type {string} */ id,
    /** @type {string} */ what,
    /** @type {() => Promise<unknown>} */ work,
  ) => {
    const run = async () => {
      showLoading(contentOf(id), what.toLowerCase());
      try {
        await work();
      } catch (error) {
        if (!isAborted(error)) showError(contentOf(id), messageOf(error, what), () => void run());
      }
    };
    return run();
  };
  const loadRecord = () =>
    load('record', 'The record', async () => {
      hasRecord = await showRecord(await api.open('summary'));
    });
  const loadDocuments = () =>
    load('documents', 'The documents', async () => {
      const { documents } = await api.read(`document?patientId=${api.patient}&output=dto`);
      showDocuments(documents, api);
    });
  const refresh = () => Promise.all([loadRecord(), loadDocuments()]);

  const queries = createQueries({
    onEnded: () => {
      // Nobody's reading is broken into: what is new comes when it is asked for, unless there was nothing to read.
      if (hasRecord) offerRefresh(refresh);
      else void refresh();
    },
  });

  showLoading(contentOf('queries'), 'the queries');
  void load('person', 'The patient', async () => {
    const path = `patient/${api.patient}`;
    const [patient, { cohorts }] = await Promise.all([api.read(path), api.read(`${path}/cohort`)]);
    showPerson(patient, cohorts);
  });
  void refresh();
  void follow(api, queries);
}

/** Stays with the events until the session is over. @param {import('./api.js').Api} api @param {ReturnType<typeof createQueries>} queries */
async function follow(api, queries) {
  const { signal } = session;
  for (let failures = 0; !signal.aborted; ) {
    try {
      for await (const { event, data } of eventsOf(await api.open('events'))) {
        failures = 0;
        byId('queries').classList.remove('stale');
        if (event === 'session' && data.expiresInSeconds !== undefined) session.lasts(data.expiresInSeconds);
        if (event === 'queries') queries.update(data.queries);
        if (event === 'end' && data.reason !== 'renew') return session.end('expired');
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof CallError && (error.status === 404 || error.status === 403))
        return showError(contentOf('queries'), messageOf(error, 'The patient'), () => location.reload());
      if (failures === 0 && contentOf('queries').hasAttribute('aria-busy'))
        show(contentOf('queries'), el('p.quiet', {}, 'The connection failed; trying again…'));
      byId('queries').classList.add('stale');
      if (failures === 1) announce('Live updates have stopped; trying to come back.');
    }
    await new Promise((wake) => setTimeout(wake, COME_BACK_MS[Math.min(failures, COME_BACK_MS.length - 1)]));
    failures += 1;
  }
}

/** @param {() => Promise<unknown>} refresh */
function offerRefresh(refresh) {
  const record = byId('record');
  if (record.querySelector('.news') !== null) return;
  const news = el(
    'div.news',
    {},
    el('p', {}, 'A query has brought something new.'),
    el(
      'button',
      {
        type: 'button',
        onclick: async () => {
          news.remove();
          byId('record-title').tabIndex = -1;
          byId('record-title').focus();
          await refresh();
          announce('The record is up to date.');
        },
      },
      'Show it',
    ),
  );
  byId('record-title').after(news);
}

/** Nothing of the person stays on the page. @param {'expired' | 'none'} reason */
function showEnd(reason) {
  for (const id of SECTIONS) show(contentOf(id));
  document.querySelector('.news')?.remove();
  for (const part of ['nav', 'main', 'session']) byId(part).hidden = true;
  document.title = 'Patient';
  byId('about').replaceChildren();
  const name = byId('name');
  name.textContent = reason === 'expired' ? 'This view is closed' : 'Nothing to show';
  document.getElementById('end')?.remove();
  byId('head').after(
    el(
      'main.end',
      { id: 'end' },
      el(
        'p',
        {},
        reason === 'expired'
          ? 'Its time is over, or its access was ended. Open it again from your application.'
          : 'Open this page from your application: it comes with a key that is good for a while.',
      ),
    ),
  );
  if (reason === 'expired') {
    name.focus();
    announce('This view is closed. Open it again from your application.');
  }
}
