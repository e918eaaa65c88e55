import { lookupTable } from '../../../lib/lookup-table.ts';
import { isJson, type Json, objectsOf, textOf } from '../rules/json.ts';
import words from '../rules/reader-words.json' with { type: 'json' };
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
} from '../rules/words.ts';
import { categoryOf, flagOf, isEmpty, observationName, valueIn } from './observation.ts';
import { reasonsOf, resourceTable, type SectionRule } from './section.ts';

export const procedures: SectionRule = {
  id: 'procedures',
  title: 'Procedures',
  empty: 'The sources have delivered no procedures.',
  statements: {
    topic: 'procedures',
    denies: ({ content }) => content.status !== 'not-done' && content.status !== 'entered-in-error',
  },
  tables: [
    resourceTable({
      caption: 'Procedures, newest first',
      types: ['Procedure'],
      cells: {
        Date: (content) =>
          firstDay(content, 'performedDateTime', 'performedPeriod') ?? textOf(content.performedString),
        Procedure: ({ code }) => conceptText(code),
        Status: ({ status }) => statusText(status),
        Reason: (content, lookup) =>
          unique([...reasonsOf(content, lookup), conceptText(content.outcome)]).join('; '),
        Where: ({ location, performer }) =>
          referenceText(location) ?? referenceText(objectsOf(performer)[0]?.actor),
      },
    }),
  ],
};

const CLASSES: Readonly<Record<string, string>> = lookupTable(words.classes);
export const classText = (of: unknown): string | undefined =>
  isJson(of) ? (CLASSES[textOf(of.code) ?? ''] ?? textOf(of.display) ?? textOf(of.code)) : undefined;

export const encounters: SectionRule = {
  id: 'encounters',
  title: 'Encounters',
  empty: 'The sources have delivered no encounters.',
  tables: [
    resourceTable({
      caption: 'Encounters, newest first',
      types: ['Encounter'],
      cells: {
        Date: ({ period, status }) => periodText(period, status === 'in-progress'),
        Encounter: ({ type, status }) =>
          unique([conceptTexts(type), status === 'finished' ? '' : statusText(status)]).join(', '),
        Class: (content) => classText(content.class),
        Reason: (content, lookup) =>
          unique([
            ...reasonsOf(content, lookup),
            ...reasonsOf(
              { reasonReference: objectsOf(content.diagnosis).map(({ condition }) => condition) },
              lookup,
            ),
          ]).join('; '),
        'Where and with whom': ({ location, serviceProvider, participant }) =>
          unique([
            ...objectsOf(location).map((place) => referenceText(place.location)),
            referenceText(serviceProvider),
            ...objectsOf(participant).map(({ individual }) => referenceText(individual)),
          ]).join('; '),
      },
    }),
  ],
};

export const otherObservations: SectionRule = {
  id: 'observations',
  title: 'Assessments and other observations',
  empty: 'The sources have delivered no other observations.',
  tables: [
    resourceTable({
      caption: 'Other observations, newest first',
      types: ['Observation'],
      shows: (content) => categoryOf(content) === 'other' && !isEmpty(content),
      cells: {
        Date: (content) => firstDay(content, 'effectiveDateTime', 'effectivePeriod', 'issued'),
        Observation: observationName,
        Value: (content) => {
          const parts = objectsOf(content.component);
          const isAlert = [content, ...parts].some((part) => flagOf(part)?.isAlert);
          const text = unique([
            valueText(content),
            ...parts.map((part) => `${conceptText(part.code) ?? ''}: ${valueText(part) ?? ''}`),
          ]).join('; ');
          return isAlert ? { text, tone: 'alert' } : text;
        },
        Kind: ({ category }) =>
          unique(objectsOf(category).map((each) => statusText(codesOf(each)[0]))).join(', '),
      },
    }),
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
    resourceTable({
      caption: 'Reports, newest first',
      types: ['DiagnosticReport'],
      shows: (content) => !isEmpty(content),
      cells: {
        Date: (content) =>
          momentText(content.effectiveDateTime) ?? firstDay(content, 'effectivePeriod', 'issued'),
        Report: ({ code, status }) =>
          unique([conceptText(code), status === 'final' ? '' : statusText(status)?.toLowerCase()]).join(', '),
        Conclusion: ({ result, conclusion, conclusionCode, presentedForm }) => {
          const count = objectsOf(result).length;
          return unique([
            textOf(conclusion) ?? conceptTexts(conclusionCode),
            count === 0 ? '' : `${count} result${count === 1 ? '' : 's'}`,
            objectsOf(presentedForm).length === 0 ? '' : 'Text in the FHIR Bundle',
          ]).join('; ');
        },
        By: ({ performer }) => unique(objectsOf(performer).map(referenceText)).join('; '),
      },
    }),
    resourceTable({
      caption: 'Imaging studies, newest first',
      types: ['ImagingStudy'],
      cells: {
        Date: ({ started }) => momentText(started),
        Study: ({ procedureCode, description }) => conceptTexts(procedureCode) || textOf(description),
        Modality: ({ modality, series }) =>
          unique(
            [...objectsOf(modality), ...objectsOf(series).map((each) => each.modality)].map((each) =>
              isJson(each) ? (textOf(each.display) ?? textOf(each.code)) : undefined,
            ),
          ).join(', '),
        Where: ({ location }) => referenceText(location),
      },
    }),
  ],
};
