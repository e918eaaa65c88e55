import { randomBytes } from 'node:crypto';
import type { Hl7Message, UnreadableMessageError } from '#hl7v2-to-fhir';

/** What became of a message: taken in, or refused with a reason. */
export type TakenIn =
  | { isAccepted: true }
  | { isAccepted: false; problem: UnreadableMessageError };

export const ACCEPTED: TakenIn = { isAccepted: true };

export const refusedFor = (problem: UnreadableMessageError): TakenIn => ({
  isAccepted: false,
  problem,
});

/**
 * The acknowledgements (ACK) that a message asks for, with its separators and
 * in its version; they do not reveal whether a patient matched. Without MSH-15
 * and MSH-16 it is one: AA, AE or AR. Otherwise (enhanced mode, HL7 v2.5.1, 2.9)
 * MSH-15 asks for CA, CE or CR, and MSH-16 for AA, AE or AR after a message that
 * was accepted. We answer after the commit, so both come at once.
 */
export function acknowledgementsAsked(
  message: Hl7Message,
  outcome: TakenIn,
): string[] {
  const accept = message.header.value(15)?.toUpperCase();
  const application = message.header.value(16)?.toUpperCase();
  if (accept === undefined && application === undefined)
    return [acknowledgement(message, outcome)];

  const { isAccepted } = outcome;
  const isAcceptAsked = isAsked(accept, isAccepted);
  const isApplicationAsked =
    isAsked(application, isAccepted) && (isAccepted || !isAcceptAsked);
  return [
    ...(isAcceptAsked ? [acknowledgement(message, outcome, 'C')] : []),
    ...(isApplicationAsked ? [acknowledgement(message, outcome)] : []),
  ];
}

/** HL7 table 0155: always, never, only of an error, only of a success. */
function isAsked(condition: string | undefined, isAccepted: boolean): boolean {
  if (condition === 'ER') return !isAccepted;
  if (condition === 'SU') return isAccepted;
  return condition !== undefined && condition !== 'NE';
}

/**
 * HL7 table 0357: unsupported message type, required field missing, application
 * internal error.
 */
const CONDITIONS = {
  unsupported: ['200', 'Unsupported message type'],
  invalid: ['101', 'Required field missing'],
  failed: ['207', 'Application internal error'],
} as const;

/**
 * How much of a field of MSH is echoed; the standard allows 5 separators, 199
 * characters in MSH-10, and 227 in MSH-3 to MSH-6.
 */
const ECHOED_MAX: Readonly<Record<number, number>> = {
  2: 5,
  10: 199,
  11: 30,
};
const ECHOED_MAX_DEFAULT = 227;

/**
 * One acknowledgement of a message. HL7 table 0008: A, the application's, or C,
 * that it was accepted; followed by A, E (it has an error) or R (this kind of
 * message is not supported).
 */
export function acknowledgement(
  message: Hl7Message,
  outcome: TakenIn,
  mode: 'A' | 'C' = 'A',
  now = new Date(),
): string {
  const { header, separators } = message;
  const { field, component } = separators;
  const version = versionOf(message);
  const echo = (number: number) =>
    header.raw(number).slice(0, ECHOED_MAX[number] ?? ECHOED_MAX_DEFAULT);
  const time = `${now.toISOString().replaceAll(/\D/g, '').slice(0, 14)}+0000`;
  const msh = [
    'MSH',
    echo(2),
    echo(5),
    echo(6),
    echo(3),
    echo(4),
    time,
    '',
    typeOf(message, version).join(component),
    randomBytes(10).toString('hex'),
    echo(11) || 'P',
    version.echoed,
  ];
  const problem = outcome.isAccepted ? undefined : outcome.problem;
  const code = `${mode}${resultOf(problem)}`;
  const msa = ['MSA', code, echo(10)];
  const segments = [msh, msa];
  if (problem !== undefined)
    segments.push(...errorOf(problem, { msa, version, message }));

  const lines = segments.map((segment) => segment.join(field));
  // Printable ASCII needs no character set.
  if (/[^\t\r\n -~]/.test(lines.join('')))
    lines[0] += `${field.repeat(6)}UNICODE UTF-8`;
  return `${lines.join('\r')}\r`;
}

function resultOf(problem: UnreadableMessageError | undefined): string {
  if (problem === undefined) return 'A';
  return problem.kind === 'unsupported' ? 'R' : 'E';
}

interface Version {
  /** As MSH-12 of the acknowledgement has it. */
  echoed: string;
  /** 5 of 2.5.1; its forms of MSH-9 and ERR are those of 2.5. */
  minor: number;
  isAtLeast231: boolean;
}

/** The version of a message; 2.5.1 where it names none that there is. */
function versionOf({ header, separators }: Hl7Message): Version {
  const [echoed = ''] = header.raw(12).split(separators.component, 1);
  const [, minor, patch = '0'] =
    /^2\.([1-9])(?:\.([0-9]))?$/.exec(echoed.trim()) ?? [];
  if (minor === undefined)
    return { echoed: '2.5.1', minor: 5, isAtLeast231: true };
  const isAtLeast231 = Number(minor) + Number(patch) / 10 >= 3.1;
  return { echoed: header.raw(12).slice(0, 60), minor: +minor, isAtLeast231 };
}

/** MSH-9: the event since 2.2, and the structure since 2.3.1. */
function typeOf({ header }: Hl7Message, version: Version): string[] {
  const event = /^[A-Z0-9]{3}$/.exec(header.value(9, 2) ?? '')?.[0];
  if (version.minor < 2 || (event === undefined && !version.isAtLeast231))
    return ['ACK'];
  if (!version.isAtLeast231) return ['ACK', event ?? ''];
  return ['ACK', event ?? '', 'ACK'];
}

/**
 * What is wrong and where: since 2.5, ERR-2 (place), ERR-3 (code), ERR-4
 * (severity) and ERR-8 (text for people); before, ERR-1, and the text in MSA-3.
 */
function errorOf(
  problem: UnreadableMessageError,
  {
    msa,
    version,
    message: { separators },
  }: { msa: string[]; version: Version; message: Hl7Message },
): string[][] {
  const { component, subcomponent } = separators;
  const [code, text] = CONDITIONS[problem.kind];
  const [segment = '', field, part] = (problem.place ?? '').split(/[-.]/);
  const said = escaped(problem.message, separators);
  if (version.minor < 5) {
    const condition =
      version.minor < 3 ? code : [code, text, 'HL70357'].join(subcomponent);
    const place = segment === '' ? ['', '', ''] : [segment, '1', field ?? ''];
    msa.push(said.slice(0, 80));
    return [['ERR', [...place, condition].join(component)]];
  }
  const place = [segment, '1', ...(field === undefined ? [] : [field])];
  if (part !== undefined) place.push('1', part);
  return [
    [
      'ERR',
      '',
      segment === '' ? '' : place.join(component),
      [code, text, 'HL70357'].join(component),
      'E',
      '',
      '',
      '',
      said,
    ],
  ];
}

/** A text with the separators of a message as its escape sequences. */
function escaped(text: string, separators: Hl7Message['separators']): string {
  const { escape: sign } = separators;
  const names: Readonly<Record<string, string>> = {
    [separators.field]: 'F',
    [separators.component]: 'S',
    [separators.subcomponent]: 'T',
    [separators.repetition]: 'R',
    [sign]: 'E',
    '\r': '.br',
    '\n': '.br',
  };
  return [...text]
    .map((char) => {
      const name = names[char];
      if (name === undefined) return char;
      return sign === '' ? ' ' : `${sign}${name}${sign}`;
    })
    .join('');
}
