import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lifeOf, personFacts } from '../src/life.ts';
import { renderHtml } from '../src/render-html.ts';
import { property } from './property.ts';
import { gather, PATIENT, partsOf, recordWith } from './records.ts';

const TODAY = new Date('2026-11-29T12:00:00Z');
const born = (birthDate: string, more: object = {}) =>
  lifeOf({ birthDate, ...more }, TODAY);

test.each([
  ['1951-04-05', '75 years'],
  ['1951-11-29', '75 years'],
  ['1951-11-30', '74 years'],
  ['2024-11-29', '2 years'],
  ['2024-11-30', '23 months'],
  ['2026-10-29', '1 month'],
  ['2026-10-30', '30 days'],
  ['2026-11-29', '0 days'],
  ['2026-11-30', undefined],
  ['1951', undefined],
])('a living person born on %s is %s old', (birthDate, age) => {
  expect(born(birthDate).age).toBe(age);
});

test.each([
  [{ deceasedDateTime: '2017-03-12' }, '12 Mar 2017, aged 65 years'],
  [
    { deceasedDateTime: '2017-04-05T23:30:00-05:00' },
    '5 Apr 2017, aged 66 years',
  ],
  [{ deceasedDateTime: '2017-03' }, 'Mar 2017, aged 65 years'],
  [{ deceasedDateTime: '2017' }, '2017, aged 65 years to 66 years'],
  [{ deceasedDateTime: '1951' }, '1951, aged 0 days to 8 months'],
  [{ deceasedDateTime: '1917-03-12' }, '12 Mar 1917'],
  [
    { deceasedDateTime: '2027-03-12' },
    '12 Mar 2027 [in the future], aged 75 years',
  ],
  [{ deceasedBoolean: true }, 'on an unknown day'],
  [{ deceasedBoolean: false }, undefined],
  [{}, undefined],
])('a person born on 5 Apr 1951 with %j died: %s', (stated, died) => {
  expect(born('1951-04-05', stated).died).toBe(died);
});

const DAYS = fc
  .date({
    min: new Date('1900-01-01'),
    max: new Date('2026-01-01'),
    noInvalidDate: true,
  })
  .map((day) => day.toISOString().slice(0, 10));

property([
  fc.record({
    birthDate: DAYS,
    deceased: fc.oneof(
      fc.constant({ deceasedBoolean: true }),
      DAYS.map((deceasedDateTime) => ({ deceasedDateTime })),
    ),
  }),
])('who has died has no age of today', ({ birthDate, deceased }) => {
  const life = born(birthDate, deceased);
  expect(life.died).toBeDefined();
  expect(life.age).toBeUndefined();

  const facts = personFacts({ birthDate, ...deceased }, TODAY);
  expect(facts).toContainEqual({
    label: 'Died',
    value: life.died,
    tone: 'alert',
  });
});

test('the html of a dead person says so in red, beside the day of birth', async () => {
  const patient = { ...PATIENT, deceasedDateTime: '2017-03-12' };
  const parts = partsOf(recordWith([patient]));
  const html = (await gather(renderHtml(parts))).join('');
  expect(html).toContain(
    '<dt>Born</dt><dd dir="auto">5 Apr 1980</dd></div>\n' +
      '<div><dt>Died</dt><dd class="alert" dir="auto">12 Mar 2017, aged 36 years</dd>',
  );
});
