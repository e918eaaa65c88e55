import { isJson, type Json, objectsOf, textOf } from '../rules/json.ts';
import { categoryOf, isEmpty } from './observation-kind.ts';
import { flagOf, observationName, valueIn } from './observation-value.ts';
import { row } from './parts.ts';
import { ORIGIN, type SectionRule } from './section.ts';
import {
  codesOf,
  conceptText,
  conceptTexts,
  firstDay,
  momentText,
  periodText,
  referenceText,
  statusText,
  unique,
} from './words.ts';

export const procedures: SectionRule = {
  id: 'procedures',
  title: 'Procedures',
  empty: 'The sources have delivered no procedures.',
  statements: {
    topic: 'procedures',
    denies: ({ content }) => content.status !== 'not-done' && content.status !== 'entered-in-error',
  },
  tables: [
    {
      caption: 'Procedures, newest first',
      types: ['Procedure'],
      columns: [
        { title: 'Date' },
        { title: 'Procedure' },
        { title: 'Status' },
        { title: 'Reason' },
        { title: 'Where' },
        ORIGIN,
      ],
      row: ({ content, origin }) =>
        row(
          firstDay(content, 'performedDateTime', 'performedPeriod') ?? textOf(content.performedString),
          conceptText(content.code),
          statusText(content.status),
          unique([
            conceptTexts(content.reasonCode),
            ...objectsOf(content.reasonReference).map(referenceText),
            conceptText(content.outcome),
          ]).join('; '),
          referenceText(content.location) ?? referenceText(objectsOf(content.performer)[0]?.actor),
          origin,
        ),
    },
  ],
};

const CLASSES: Readonly<Record<string, string>> = {
  AMB: 'Ambulatory',
  EMER: 'Emergency',
  IMP: 'Inpatient',
  ACUTE: 'Inpatient, acute',
  NONAC: 'Inpatient, not acute',
  OBSENC: 'Observation',
  SS: 'Short stay',
  HH: 'Home health',
  VR: 'Virtual',
  FLD: 'Field',
};
export const classText = (of: unknown): string | undefined =>
  isJson(of) ? (CLASSES[textOf(of.code) ?? ''] ?? textOf(of.display) ?? textOf(of.code)) : undefined;

export const encounters: SectionRule = {
  id: 'encounters',
  title: 'Encounters',
  empty: 'The sources have delivered no encounters.',
  tables: [
    {
      caption: 'Encounters, newest first',
      types: ['Encounter'],
      columns: [
        { title: 'Date' },
        { title: 'Encounter' },
        { title: 'Class' },
        { title: 'Reason' },
        { title: 'Where and with whom' },
        ORIGIN,
      ],
      row: ({ content, origin }) =>
        row(
          periodText(content.period, content.status === 'in-progress'),
          unique([
            conceptTexts(content.type),
            content.status === 'finished' ? '' : statusText(content.status),
          ]).join(', '),
          classText(content.class),
          conceptTexts(content.reasonCode),
          unique([
            ...objectsOf(content.location).map(({ location }) => referenceText(location)),
            referenceText(content.serviceProvider),
            ...objectsOf(content.participant).map(({ individual }) => referenceText(individual)),
          ]).join('; '),
          origin,
        ),
    },
  ],
};

const categories = (content: Json): string =>
  unique(objectsOf(content.category).map((category) => statusText(codesOf(category)[0]))).join(', ');

export const otherObservations: SectionRule = {
  id: 'observations',
  title: 'Social history, assessments and other observations',
  empty: 'The sources have delivered no other observations.',
  tables: [
    {
      caption: 'Other observations, newest first',
      types: ['Observation'],
      columns: [{ title: 'Date' }, { title: 'Observation' }, { title: 'Value' }, { title: 'Kind' }, ORIGIN],
      row: ({ content, origin }) => {
        if (categoryOf(content) !== 'other' || isEmpty(content)) return undefined;
        const parts = objectsOf(content.component);
        const alert = [content, ...parts].some((part) => flagOf(part)?.isAlert);
        const text = unique([
          valueText(content),
          ...parts.map((part) => `${conceptText(part.code) ?? ''}: ${valueText(part) ?? ''}`),
        ]).join('; ');
        return row(
          firstDay(content, 'effectiveDateTime', 'effectivePeriod', 'issued'),
          observationName(content),
          alert ? { text, tone: 'alert' } : text,
          categories(content),
          origin,
        );
      },
    },
  ],
};

function valueText(of: Json): string | undefined {
  const value = valueIn(of);
  const flag = flagOf(of);
  return value && `${value.value} ${value.unit}`.trim() + (flag?.isAlert ? ` (${flag.text})` : '');
}

export const reports: SectionRule = {
  id: 'reports',
  title: 'Reports and imaging',
  empty: 'The sources have delivered no reports.',
  tables: [
    {
      caption: 'Reports, newest first',
      types: ['DiagnosticReport'],
      columns: [{ title: 'Date' }, { title: 'Report' }, { title: 'Conclusion' }, { title: 'By' }, ORIGIN],
      row: ({ content, origin }) => {
        if (isEmpty(content)) return undefined;
        const count = objectsOf(content.result).length;
        const conclusion = textOf(content.conclusion) ?? conceptTexts(content.conclusionCode);
        const parts = [
          conclusion,
          count === 0 ? '' : `${count} result${count === 1 ? '' : 's'}`,
          objectsOf(content.presentedForm).length === 0 ? '' : 'Text in the FHIR Bundle',
        ];
        return row(
          momentText(content.effectiveDateTime) ?? firstDay(content, 'effectivePeriod', 'issued'),
          unique([
            conceptText(content.code),
            content.status === 'final' ? '' : statusText(content.status)?.toLowerCase(),
          ]).join(', '),
          unique(parts).join('; '),
          unique(objectsOf(content.performer).map(referenceText)).join('; '),
          origin,
        );
      },
    },
    {
      caption: 'Imaging studies, newest first',
      types: ['ImagingStudy'],
      columns: [{ title: 'Date' }, { title: 'Study' }, { title: 'Modality' }, { title: 'Where' }, ORIGIN],
      row: ({ content, origin }) =>
        row(
          momentText(content.started),
          conceptTexts(content.procedureCode) || textOf(content.description),
          unique(
            [
              ...objectsOf(content.modality),
              ...objectsOf(content.series).map(({ modality }) => modality),
            ].map((modality) =>
              isJson(modality) ? (textOf(modality.display) ?? textOf(modality.code)) : undefined,
            ),
          ).join(', '),
          referenceText(content.location),
          origin,
        ),
    },
  ],
};
