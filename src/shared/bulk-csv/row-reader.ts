import type { PatientDemographics } from '../../contract/patients.ts';
import * as rules from './cell-rules.ts';
import {
  ADDRESS_FIELDS,
  type AddressField,
  columnOf,
  type IndexedField,
  MAX_INDEX,
  SINGLE_FIELDS,
  type SingleField,
  usualName,
} from './columns.ts';
import { type CsvLayout, unescapeFormula } from './layout.ts';
import type { CellId, ReadRow, RowError, RowReader } from './row.ts';

/**
 * The position of a field in a row, and the name of its column for messages.
 */
interface Place {
  /** -1 if the file has no such column. */
  position: number;
  column: string;
}

/**
 * Creates a reader for the rows of a file with this layout, by the rules of E5
 * (docs/interface.md, "Bulk CSV").
 */
export function createRowReader({ columns }: CsvLayout): RowReader {
  const plan = planOf(columns);
  return (cells) => {
    if (cells.length !== columns.length) {
      const message = `has ${cells.length} cell${cells.length === 1 ? '' : 's'}, the header has ${columns.length}`;
      return { errors: [{ column: '', message }], cohorts: [] };
    }
    return readRow(plan, cells);
  };
}

type Plan = ReturnType<typeof planOf>;

function planOf(columns: readonly string[]) {
  const positions = new Map<string, number>();
  for (const [position, cell] of columns.entries()) {
    const column = columnOf(cell);
    if (column.kind === 'single')
      positions.set(usualName(column.field), position);
    if (column.kind === 'indexed')
      positions.set(usualName(column.field, column.index), position);
  }
  const place = (field: SingleField | IndexedField, index = 1): Place => {
    const name = usualName(field, index);
    const position = positions.get(name) ?? -1;
    return { position, column: columns[position]?.trim() ?? name };
  };
  const indexes = Array.from({ length: MAX_INDEX }, (_, number) => number + 1);
  const isThere = ({ position }: Place) => position !== -1;
  return {
    single: placesOf(SINGLE_FIELDS, place),
    /** The indexes for which the file has any column, and always index 1. */
    addresses: indexes
      .map((index) => ({
        index,
        ...placesOf(ADDRESS_FIELDS, (field) => place(field, index)),
      }))
      .filter(
        (address) =>
          address.index === 1 ||
          ADDRESS_FIELDS.some((field) => isThere(address[field])),
      ),
    contacts: indexes
      .map((index) => ({
        phone: place('phone', index),
        email: place('email', index),
      }))
      .filter(({ phone, email }) => isThere(phone) || isThere(email)),
    cohorts: indexes.map((index) => place('cohort', index)).filter(isThere),
  };
}

const placesOf = <Field extends string>(
  fields: readonly Field[],
  place: (field: Field) => Place,
) =>
  Object.fromEntries(fields.map((field) => [field, place(field)])) as Record<
    Field,
    Place
  >;

function readRow(
  { single, addresses, contacts, cohorts }: Plan,
  cells: readonly string[],
): ReadRow {
  const row = new Cells(cells);
  const firstName = row.required(single.firstName, rules.namesRule);
  const lastName = row.required(single.lastName, rules.namesRule);
  const dob = row.required(single.dob, rules.dobRule);
  const genderAtBirth = row.required(single.gender, rules.genderRule);
  const address = addresses
    .map((places) => readAddress(row, places))
    .filter(isGiven);
  const contact = contacts
    .map((places) => readContact(row, places))
    .filter(isGiven);
  const personalIdentifiers = readIdentifiers(row, single);
  const externalId = row.optional(single.externalId, rules.externalIdRule);
  const hieOptOut = row.optional(single.hieOptOut, rules.flagRule);
  const facilityId = row.optional(single.facilityId, rules.idRule);
  const facility =
    facilityId === undefined
      ? undefined
      : { column: single.facilityId.column, id: facilityId };
  const cohortIds = readCohorts(row, cohorts);

  const { errors } = row;
  if (
    errors.length > 0 ||
    firstName === undefined ||
    lastName === undefined ||
    dob === undefined ||
    genderAtBirth === undefined
  )
    return { errors, facility, cohorts: cohortIds };
  const patient: PatientDemographics = {
    firstName,
    lastName,
    dob,
    genderAtBirth,
    address,
    contact,
    personalIdentifiers,
    externalId,
    status: hieOptOut === undefined ? undefined : { hieOptOut },
  };
  const value = { patient, facilityId, cohorts: cohortIds.map(({ id }) => id) };
  return { value, errors, facility, cohorts: cohortIds };
}

/** Reads the cells of one row by the given rules, and collects the errors. */
class Cells {
  readonly errors: RowError[] = [];
  private readonly cells: readonly string[];

  constructor(cells: readonly string[]) {
    this.cells = cells;
  }

  /**
   * Returns the trimmed text of a cell. Also removes the apostrophe with which
   * a result CSV or a spreadsheet escapes a formula, because rows of a result
   * may be corrected and uploaded again.
   */
  text({ position }: Place): string {
    const cell = this.cells[position];
    return cell === undefined ? '' : unescapeFormula(cell.trim()).trim();
  }

  /**
   * Returns undefined when the cell is empty or invalid; collects the error.
   */
  optional<T>(place: Place, rule: rules.CellRule<T>): T | undefined {
    const text = this.text(place);
    return text === '' ? undefined : this.#take(place, rule(text));
  }

  required<T>(
    place: Place,
    rule: rules.CellRule<T>,
    whenEmpty = 'is required',
  ): T | undefined {
    const text = this.text(place);
    return this.#take(
      place,
      text === '' ? new rules.Wrong(whenEmpty) : rule(text),
    );
  }

  #take<T>({ column }: Place, judged: T | rules.Wrong): T | undefined {
    if (!(judged instanceof rules.Wrong)) return judged;
    this.errors.push({ column, message: judged.message });
    return undefined;
  }
}

/**
 * If any field of an address is given, all but line 2 are required. Address 1
 * is always required.
 */
function readAddress(
  row: Cells,
  places: { index: number } & Record<AddressField, Place>,
): PatientDemographics['address'][number] | undefined {
  const { index } = places;
  if (
    index > 1 &&
    ADDRESS_FIELDS.every((field) => row.text(places[field]) === '')
  )
    return undefined;
  const whenEmpty =
    index === 1
      ? 'is required'
      : `is required, because another field of address ${index} is given`;
  const addressLine1 = row.required(
    places.addressLine1,
    rules.line1Rule,
    whenEmpty,
  );
  const addressLine2 = row.optional(places.addressLine2, rules.line2Rule);
  const city = row.required(places.city, rules.cityRule, whenEmpty);
  const state = row.required(places.state, rules.stateRule, whenEmpty);
  const zip = row.required(places.zip, rules.zipRule, whenEmpty);
  if (
    addressLine1 === undefined ||
    city === undefined ||
    state === undefined ||
    zip === undefined
  )
    return undefined;
  return { addressLine1, addressLine2, city, state, zip, country: 'USA' };
}

const isGiven = <T>(value: T | undefined): value is T => value !== undefined;

/** Phone and e-mail with the same index form one contact. */
function readContact(row: Cells, places: { phone: Place; email: Place }) {
  const phone = row.optional(places.phone, rules.phoneRule);
  const email = row.optional(places.email, rules.emailRule);
  if (phone === undefined && email === undefined) return undefined;
  return { phone, email };
}

/** A licence number requires its state; a state without a number is ignored. */
function readIdentifiers(
  row: Cells,
  { ssn, driversLicenseNo: licence, ...single }: Plan['single'],
) {
  const identifiers: NonNullable<PatientDemographics['personalIdentifiers']> =
    [];
  const ssnValue = row.optional(ssn, rules.ssnRule);
  if (ssnValue !== undefined)
    identifiers.push({ type: 'ssn', value: ssnValue });
  if (row.text(licence) === '') return identifiers;
  const value = row.required(licence, rules.licenceNumberRule);
  const state = row.required(
    single.driversLicenseState,
    rules.stateRule,
    `is required, because ${licence.column} is given`,
  );
  if (value !== undefined && state !== undefined)
    identifiers.push({ type: 'driversLicense', value, state });
  return identifiers;
}

/** Reads the cohort ids, without duplicates. */
function readCohorts(row: Cells, places: readonly Place[]): CellId[] {
  const found: CellId[] = [];
  for (const place of places) {
    const id = row.optional(place, rules.idRule);
    if (id !== undefined && !found.some((known) => known.id === id))
      found.push({ column: place.column, id });
  }
  return found;
}
