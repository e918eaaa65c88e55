import { byId, contentOf, el, show } from './dom.js';
import { dayText } from './words.js';

/** @type {Record<string, string>} */
const GENDERS = { M: 'Male', F: 'Female', O: 'Other', U: 'Gender unknown' };

/**
 * Shows the patient in the head of the page and in the section with all details.
 * @param {any} patient as returned by the interface @param {any[]} cohorts
 */
export function showPerson(patient, cohorts) {
  const name = [patient.firstName, patient.lastName].flat().join(' ');
  document.title = name;
  byId('name-text').textContent = name;
  byId('born').textContent = `Born ${dayText(patient.dob)}`;
  byId('gender').textContent =
    GENDERS[patient.genderAtBirth] ?? patient.genderAtBirth;
  const phones = patient.contact.flatMap(
    (/** @type {any} */ { phone }) => phone ?? [],
  );
  const emails = patient.contact.flatMap(
    (/** @type {any} */ { email }) => email ?? [],
  );
  const facts = [
    ['Address', patient.address.map(addressText)],
    ['Phone', phones.map(phoneText)],
    ['E-mail', emails],
    ['Chart number', [patient.externalId]],
    ['Networks', [patient.status?.hieOptOut ? 'Opted out' : undefined]],
  ];
  show(
    contentOf('person'),
    el(
      'dl.facts',
      {},
      ...facts.flatMap(([label, values]) => fact(label, values)),
    ),
    el('h3', {}, 'Cohorts'),
    cohorts.length === 0
      ? el('p.quiet', {}, 'Not in any cohort.')
      : el(
          'ul.cohorts',
          {},
          ...cohorts.map(({ name: cohort, color }) =>
            el(`li.tag.${colorClass(color)}`, {}, el('bdi', {}, cohort)),
          ),
        ),
  );
}

/**
 * Shows the age, or that the person has died, which only the record knows.
 * @param {{age?: string, died?: string}} life of the head of the summary
 */
export function showLife({ age = '', died }) {
  const life = byId('life');
  life.textContent = died === undefined ? age : `Died ${died}`;
  life.classList.toggle('alert', died !== undefined);
}

/** @param {string} label @param {(string | undefined)[]} values */
function fact(label, values) {
  const known = values.filter((value) => value !== undefined && value !== '');
  if (known.length === 0) return [];
  return [
    el(
      'div',
      {},
      el('dt', {}, label),
      ...known.map((value) => el('dd', {}, el('bdi', {}, value))),
    ),
  ];
}

/** @param {any} address */
const addressText = ({ addressLine1, addressLine2, city, state, zip }) =>
  [addressLine1, addressLine2, `${city}, ${state} ${zip}`]
    .filter(Boolean)
    .join(', ');

/** @param {string} phone ten digits */
const phoneText = (phone) =>
  phone.replace(/^(\d{3})(\d{3})(\d{4})$/, '($1) $2-$3');

/** @param {unknown} color */
const colorClass = (color) =>
  /^[a-z]+$/.test(String(color)) ? `color-${color}` : 'color-none';
