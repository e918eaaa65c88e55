import {
  type Coded,
  type DocumentMetadata,
  type DocumentQueryRequest,
  isSameId,
  queryValues,
  withoutUrn,
} from '#ihe';
import { lookupTable } from '../../../lib/lookup-table.ts';

/** The parameters of FindDocuments that a code of an entry is compared with. */
const CODES: Readonly<
  Record<string, (entry: DocumentMetadata) => readonly Coded[]>
> = lookupTable({
  $XDSDocumentEntryClassCode: ({ classCode }) => present(classCode),
  $XDSDocumentEntryTypeCode: ({ typeCode }) => present(typeCode),
  $XDSDocumentEntryFormatCode: ({ formatCode }) => present(formatCode),
  $XDSDocumentEntryPracticeSettingCode: ({ practiceSetting }) =>
    present(practiceSetting),
  $XDSDocumentEntryHealthcareFacilityTypeCode: ({ facilityType }) =>
    present(facilityType),
  $XDSDocumentEntryConfidentialityCode: ({ confidentiality = [] }) =>
    confidentiality,
  $XDSDocumentEntryEventCodeList: () => [],
});

/** Those that a time of an entry is compared with. */
const TIMES: Readonly<
  Record<string, (entry: DocumentMetadata) => string | undefined>
> = lookupTable({
  $XDSDocumentEntryCreationTime: ({ creationTime }) => creationTime,
  $XDSDocumentEntryServiceStartTime: ({ serviceStart }) => serviceStart,
  $XDSDocumentEntryServiceStopTime: ({ serviceStop }) => serviceStop,
});

/** Those that say whose documents, and of which kind. */
const OTHERS: ReadonlySet<string> = new Set([
  '$XDSDocumentEntryPatientId',
  '$XDSDocumentEntryStatus',
  '$XDSDocumentEntryType',
]);

/** The parameters of a question that we do not know: it is then not answered. */
export function unknownParameters({ slots }: DocumentQueryRequest): string[] {
  return [...slots.keys()].filter(
    (name) =>
      name.startsWith('$') &&
      !OTHERS.has(name) &&
      CODES[name] === undefined &&
      TIMES[name.replace(/(?:From|To)$/, '')] === undefined,
  );
}

/** Whether FindDocuments asks for this entry (ITI TF-2 3.18.4.1.2.3.7.1). */
export function isAskedFor(
  { slots, wantsStable }: DocumentQueryRequest,
  entry: DocumentMetadata,
): boolean {
  const wants = [...slots].every(([name, values]) =>
    parameterFits(name, values, entry),
  );
  return wantsStable && isApproved(slots) && wants;
}

function isApproved(slots: DocumentQueryRequest['slots']): boolean {
  const statuses = queryValues(slots.get('$XDSDocumentEntryStatus'));
  return statuses.some((status) => /(?:^|:)Approved$/.test(status));
}

function parameterFits(
  name: string,
  values: readonly string[],
  entry: DocumentMetadata,
): boolean {
  const codes = CODES[name];
  if (codes !== undefined) return hasCode(codes(entry), queryValues(values));
  const [, time = '', end] = /^(.*?)(From|To)$/.exec(name) ?? [];
  const [wanted] = values;
  const own = TIMES[time]?.(entry);
  // Without a time, nothing says that the document is not of that time.
  if (end === undefined || wanted === undefined || own === undefined)
    return true;
  return end === 'From'
    ? compareTimes(own, wanted) >= 0
    : compareTimes(own, wanted) < 0;
}

/** Times of less precision begin with their first second. */
function compareTimes(left: string, right: string): number {
  const whole = (time: string) =>
    Number(
      time
        .trim()
        .replace(/\D.*$/, '')
        .padEnd(8, '01')
        .slice(0, 14)
        .padEnd(14, '0'),
    );
  return whole(left) - whole(right);
}

/** Wanted codes are written `code^^system`. */
function hasCode(codes: readonly Coded[], wanted: readonly string[]): boolean {
  return wanted.some((text) => {
    const [code, , system = ''] = text.split('^');
    return codes.some(
      (own) =>
        own.code === code &&
        (system === '' || isSameId(withoutUrn(own.system ?? ''), system)),
    );
  });
}

const present = (coded: Coded | undefined): Coded[] =>
  coded === undefined ? [] : [coded];
