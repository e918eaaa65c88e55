import { lookupTable } from '../../../lib/lookup-table.ts';
import { isJson, type Json, objectsOf, textOf } from '../rules/json.ts';
import words from '../rules/reader-words.json' with { type: 'json' };
import {
  conceptText,
  conceptTexts,
  dayText,
  firstDay,
  momentText,
  periodText,
  referenceText,
  statusText,
  unique,
} from '../rules/words.ts';
import { resourceTable, type SectionRule } from './section.ts';

export const documents: SectionRule = {
  id: 'documents',
  title: 'Documents',
  empty: 'The sources have delivered no documents.',
  tables: [
    resourceTable({
      caption: 'Documents, newest first',
      types: ['DocumentReference'],
      cells: {
        Date: ({ date, context }) =>
          momentText(date) ?? (isJson(context) ? periodText(context.period) : undefined),
        Document: (content) =>
          unique([
            conceptText(content.type) ?? textOf(content.description),
            ...attachmentsOf(content).map(({ title }) => textOf(title)),
          ]).join('; '),
        Status: ({ status }) => statusText(status),
        By: ({ author, custodian }) =>
          unique([...objectsOf(author).map(referenceText), referenceText(custodian)]).join('; '),
        Format: (content) =>
          unique(attachmentsOf(content).map(({ contentType }) => formatName(textOf(contentType)))).join(', '),
      },
    }),
  ],
};

const attachmentsOf = ({ content }: Json): Json[] =>
  objectsOf(content).map(({ attachment }) => (isJson(attachment) ? attachment : {}));

const FORMATS: Readonly<Record<string, string>> = lookupTable(words.formats);
function formatName(contentType: string | undefined): string | undefined {
  const plain = contentType?.split(';', 1)[0]?.trim();
  return plain && (FORMATS[plain] ?? plain);
}

export const carePlans: SectionRule = {
  id: 'care-plans',
  title: 'Care plans, goals and care teams',
  empty: 'The sources have delivered no care plans.',
  tables: [
    resourceTable({
      caption: 'Care plans',
      types: ['CarePlan'],
      cells: {
        Period: ({ period, status }) => periodText(period, status === 'active'),
        Plan: ({ title, category }) =>
          unique([textOf(title), ...objectsOf(category).map(({ text }) => textOf(text))]).join('; '),
        Status: ({ status }) => statusText(status),
        Activities: ({ activity }) =>
          unique(
            objectsOf(activity).map(({ detail }) =>
              isJson(detail) ? (conceptText(detail.code) ?? textOf(detail.description)) : undefined,
            ),
          ).join('; '),
      },
    }),
    resourceTable({
      caption: 'Goals',
      types: ['Goal'],
      cells: {
        Since: ({ startDate }) => dayText(startDate),
        Goal: ({ description }) => conceptText(description),
        Status: ({ lifecycleStatus }) => statusText(lifecycleStatus),
      },
    }),
    resourceTable({
      caption: 'Care teams',
      types: ['CareTeam'],
      cells: {
        Period: ({ period, status }) => periodText(period, status === 'active'),
        For: ({ name, reasonCode }) => textOf(name) ?? conceptTexts(reasonCode),
        Status: ({ status }) => statusText(status),
        Members: ({ participant }) =>
          unique(objectsOf(participant).map(({ member }) => referenceText(member))).join('; '),
      },
    }),
  ],
};

export const background: SectionRule = {
  id: 'background',
  title: 'Family history, devices and coverage',
  empty: 'The sources have delivered no family history, devices or coverage.',
  statements: { topic: 'devices', denies: ({ content }) => content.resourceType === 'Device' },
  tables: [
    resourceTable({
      caption: 'Family history',
      types: ['FamilyMemberHistory'],
      cells: {
        Relative: ({ relationship, name }) => conceptText(relationship) ?? textOf(name),
        Conditions: ({ condition }) =>
          unique(objectsOf(condition).map(({ code }) => conceptText(code))).join('; '),
      },
    }),
    resourceTable({
      caption: 'Devices',
      types: ['Device'],
      cells: {
        Device: ({ type, deviceName }) =>
          conceptText(type) ?? objectsOf(deviceName).map(({ name }) => textOf(name))[0],
        Manufactured: ({ manufactureDate }) => dayText(manufactureDate),
        Status: ({ status }) => statusText(status),
        'Serial number': ({ serialNumber }) => textOf(serialNumber),
      },
    }),
    resourceTable({
      caption: 'Coverage',
      types: ['Coverage'],
      cells: {
        Payer: ({ payor }) => unique(objectsOf(payor).map(referenceText)).join('; '),
        Kind: ({ type }) => conceptText(type),
        Period: (content) => firstDay(content, 'period'),
      },
    }),
  ],
};
