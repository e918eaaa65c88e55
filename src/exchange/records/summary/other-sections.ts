import { isJson, objectsOf, textOf } from '../rules/json.ts';
import { row } from './parts.ts';
import { ORIGIN, type SectionRule } from './section.ts';
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
} from './words.ts';

export const documents: SectionRule = {
  id: 'documents',
  title: 'Documents',
  empty: 'The sources have delivered no documents.',
  tables: [
    {
      caption: 'Documents, newest first',
      types: ['DocumentReference'],
      columns: [
        { title: 'Date' },
        { title: 'Document' },
        { title: 'Status' },
        { title: 'By' },
        { title: 'Format' },
        ORIGIN,
      ],
      row: ({ content, origin }) => {
        const attachments = objectsOf(content.content).map(({ attachment }) =>
          isJson(attachment) ? attachment : {},
        );
        return row(
          momentText(content.date) ??
            (isJson(content.context) ? periodText(content.context.period) : undefined),
          unique([
            conceptText(content.type) ?? textOf(content.description),
            ...attachments.map(({ title }) => textOf(title)),
          ]).join('; '),
          statusText(content.status),
          unique([...objectsOf(content.author).map(referenceText), referenceText(content.custodian)]).join(
            '; ',
          ),
          unique(attachments.map(({ contentType }) => formatName(textOf(contentType)))).join(', '),
          origin,
        );
      },
    },
  ],
};

const FORMATS: Readonly<Record<string, string>> = {
  'text/plain': 'Text',
  'text/html': 'HTML',
  'application/pdf': 'PDF',
  'application/xml': 'XML',
  'text/xml': 'XML',
};
function formatName(contentType: string | undefined): string | undefined {
  const plain = contentType?.split(';', 1)[0]?.trim();
  return plain && (FORMATS[plain] ?? plain);
}

export const carePlans: SectionRule = {
  id: 'care-plans',
  title: 'Care plans, goals and care teams',
  empty: 'The sources have delivered no care plans.',
  tables: [
    {
      caption: 'Care plans',
      types: ['CarePlan'],
      columns: [{ title: 'Period' }, { title: 'Plan' }, { title: 'Status' }, { title: 'Activities' }, ORIGIN],
      row: ({ content, origin }) =>
        row(
          periodText(content.period, content.status === 'active'),
          unique([
            textOf(content.title),
            ...objectsOf(content.category).map((each) => textOf(each.text)),
          ]).join('; '),
          statusText(content.status),
          unique(
            objectsOf(content.activity).map(({ detail }) =>
              isJson(detail) ? (conceptText(detail.code) ?? textOf(detail.description)) : undefined,
            ),
          ).join('; '),
          origin,
        ),
    },
    {
      caption: 'Goals',
      types: ['Goal'],
      columns: [{ title: 'Since' }, { title: 'Goal' }, { title: 'Status' }, ORIGIN],
      row: ({ content, origin }) =>
        row(
          dayText(content.startDate),
          conceptText(content.description),
          statusText(content.lifecycleStatus),
          origin,
        ),
    },
    {
      caption: 'Care teams',
      types: ['CareTeam'],
      columns: [{ title: 'Period' }, { title: 'For' }, { title: 'Status' }, { title: 'Members' }, ORIGIN],
      row: ({ content, origin }) =>
        row(
          periodText(content.period, content.status === 'active'),
          textOf(content.name) ?? conceptTexts(content.reasonCode),
          statusText(content.status),
          unique(objectsOf(content.participant).map(({ member }) => referenceText(member))).join('; '),
          origin,
        ),
    },
  ],
};

export const background: SectionRule = {
  id: 'background',
  title: 'Family history, devices and coverage',
  empty: 'The sources have delivered no family history, devices or coverage.',
  statements: { topic: 'devices', denies: ({ content }) => content.resourceType === 'Device' },
  tables: [
    {
      caption: 'Family history',
      types: ['FamilyMemberHistory'],
      columns: [{ title: 'Relative' }, { title: 'Conditions' }, ORIGIN],
      row: ({ content, origin }) =>
        row(
          conceptText(content.relationship) ?? textOf(content.name),
          unique(objectsOf(content.condition).map(({ code }) => conceptText(code))).join('; '),
          origin,
        ),
    },
    {
      caption: 'Devices',
      types: ['Device'],
      columns: [
        { title: 'Device' },
        { title: 'Manufactured' },
        { title: 'Status' },
        { title: 'Serial number' },
        ORIGIN,
      ],
      row: ({ content, origin }) =>
        row(
          conceptText(content.type) ?? objectsOf(content.deviceName).map(({ name }) => textOf(name))[0],
          dayText(content.manufactureDate),
          statusText(content.status),
          textOf(content.serialNumber),
          origin,
        ),
    },
    {
      caption: 'Coverage',
      types: ['Coverage'],
      columns: [{ title: 'Payer' }, { title: 'Kind' }, { title: 'Period' }, ORIGIN],
      row: ({ content, origin }) =>
        row(
          unique(objectsOf(content.payor).map(referenceText)).join('; '),
          conceptText(content.type),
          firstDay(content, 'period'),
          origin,
        ),
    },
  ],
};
