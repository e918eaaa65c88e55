import { codeTable } from '../fhir/code-table.ts';

/**
 * A test as a clinician names it: LOINC codes that differ only in specimen
 * (serum or whole blood), method or unit, so that one line shows its newest
 * result.
 */
interface KnownTest {
  codes: readonly string[];
  /**
   * By how many per cent two results of an unchanged patient may differ; what
   * changes by less is shown as unchanged.
   */
  percent?: number;
  /** Significant digits on page one, where three would hide a difference. */
  digits?: number;
}

interface TestGroup {
  /** What its tests are for. */
  for: string;
  /** For tests without a code of the table, which sources name in words. */
  words?: RegExp;
  percent: number;
  /** Shown only where there is room, unless they are abnormal. */
  isMinor?: true;
  tests: readonly KnownTest[];
}

/**
 * Tests by what they are for, the most important first: the order of page one.
 *
 * `percent` is 2.77 (two measurements, 95 %) times half of the variation within
 * a person, which is what a laboratory is expected to hold (EFLM, Biological
 * Variation Database).
 */
const GROUPS = [
  {
    for: 'heart',
    words: /troponin|natriuretic|\bbnp\b/i,
    percent: 20,
    tests: [
      { codes: ['10839-9', '42757-5', '49563-0', '89579-7'] },
      { codes: ['6598-7', '48425-3', '67151-1'] },
      { codes: ['33762-6', '83107-3'] },
      { codes: ['30934-4', '42637-9'] },
      { codes: ['13969-1', '49551-5', '32673-6'] },
    ],
  },
  {
    for: 'kidneys',
    words:
      /creatinine|glomerular|\be?gfr\b|urea|\bbun\b|(?:protein|albumin).*\b(?:urine|ur)\b|\b(?:urine|ur)\b.*(?:protein|albumin)|cystatin/i,
    percent: 8,
    tests: [
      { codes: ['2160-0', '38483-4', '14682-9', '59826-8'], percent: 6 },
      {
        codes: [
          '33914-3',
          '48642-3',
          '48643-1',
          '62238-1',
          '69405-9',
          '77147-7',
          '88293-6',
          '88294-4',
          '98979-8',
        ],
      },
      { codes: ['9318-7', '14959-1', '32294-1', '13705-9'], percent: 30 },
      { codes: ['2890-2', '34366-5', '40486-3'], percent: 30 },
      { codes: ['2889-4'], percent: 30 },
      { codes: ['14957-5', '1754-1', '30003-8'], percent: 30 },
      { codes: ['5804-0', '2888-6', '57735-3'], percent: 30 },
      { codes: ['20454-5'] },
      { codes: ['3094-0', '6299-2', '22664-7', '14937-7'], percent: 19 },
      { codes: ['33863-2'] },
    ],
  },
  {
    for: 'glucose',
    words:
      /glycated|hba1c|hgba1c|a1c\b|glucose.*(?:serum|plasma|blood)|fasting glucose/i,
    percent: 7,
    tests: [
      {
        codes: ['4548-4', '17856-6', '4549-2', '59261-8', '71875-9'],
        percent: 4,
      },
      { codes: ['2345-7', '2339-0', '14749-6', '15074-8'] },
      { codes: ['1558-6', '14771-0'] },
      { codes: ['2340-8', '41653-7', '32016-8', '14743-9'] },
      { codes: ['1518-0', '20438-8', '1507-3'] },
    ],
  },
  {
    for: 'lipids',
    words: /cholesterol|triglyceride|\bldl\b|\bhdl\b/i,
    percent: 10,
    tests: [
      { codes: ['18262-6', '13457-7', '2089-1', '22748-8', '39469-2'] },
      { codes: ['2093-3', '14647-2'], percent: 7 },
      { codes: ['2085-9', '14646-4'], percent: 8 },
      { codes: ['2571-8', '14927-8', '3043-7'], percent: 28 },
      { codes: ['43396-1'] },
      { codes: ['10835-7', '43583-4'] },
      { codes: ['1884-6'] },
    ],
  },
  {
    for: 'blood count',
    words:
      /h(?:a)?emoglobin|h(?:a)?ematocrit|platelets|leu[ck]ocytes.*blood|white (?:blood )?cell|\bwbc\b|\bhgb\b|neutrophils/i,
    percent: 10,
    tests: [
      { codes: ['718-7', '20509-6', '30313-1'], percent: 4 },
      { codes: ['6690-2', '26464-8', '804-5'], percent: 16 },
      { codes: ['777-3', '26515-7'] },
      { codes: ['4544-3', '20570-8'], percent: 4 },
      { codes: ['751-8', '753-4', '26499-4'], percent: 20 },
    ],
  },
  {
    for: 'coagulation',
    words: /\binr\b|prothrombin|thromboplastin|\baptt\b|d-dimer|fibrin/i,
    percent: 10,
    tests: [
      { codes: ['6301-6', '34714-6', '38875-1'] },
      { codes: ['5902-2', '5964-2'] },
      { codes: ['3173-2', '14979-9'] },
      { codes: ['48065-7', '48066-5', '7799-0'], percent: 30 },
      { codes: ['3255-7'] },
    ],
  },
  {
    for: 'electrolytes',
    words:
      /potassium|sodium|calcium|magnesium|phosph(?:ate|orus)\b|bicarbonate/i,
    percent: 5,
    tests: [
      { codes: ['2823-3', '6298-4'], percent: 6 },
      { codes: ['2951-2', '2947-0'], percent: 2 },
      { codes: ['17861-6', '49765-1'], percent: 3 },
      { codes: ['1994-3', '12180-6'], percent: 3 },
      { codes: ['19123-9', '2601-3'] },
      { codes: ['2777-1'], percent: 12 },
      { codes: ['1963-8', '1959-6'], percent: 6 },
    ],
  },
  {
    for: 'liver and pancreas',
    words:
      /aminotransferase|\balt\b|\bast\b|bilirubin.*(?:serum|blood)|alkaline phosphatase|lipase|ammonia|\bggt\b|^albumin/i,
    percent: 14,
    tests: [
      { codes: ['1742-6', '1743-4', '1744-2'] },
      { codes: ['1920-8', '30239-8'] },
      { codes: ['1975-2', '14631-6'], percent: 28 },
      { codes: ['6768-6'], percent: 7 },
      { codes: ['2324-2'] },
      { codes: ['1751-7', '61151-7'], percent: 4 },
      { codes: ['3040-3'], percent: 30 },
      { codes: ['22763-7'], percent: 30 },
      { codes: ['1968-7'], percent: 30 },
    ],
  },
  {
    for: 'tumors: markers and screening',
    words:
      /\bpsa\b|prostate specific|carcinoembryonic|\bcea\b|cancer ag|fetoprotein|occult blood|papilloma/i,
    percent: 20,
    tests: [
      { codes: ['2857-1', '35741-8', '83112-3'], percent: 10 },
      { codes: ['10886-0'] },
      { codes: ['2039-6'] },
      { codes: ['10334-1'] },
      { codes: ['24108-3'] },
      { codes: ['1834-1', '53962-7'] },
      { codes: ['6875-9'] },
      { codes: ['17842-6'] },
      { codes: ['14804-9', '2532-0'] },
      { codes: ['1952-1'] },
      { codes: ['57905-2', '29771-3', '2335-8', '27396-1'], percent: 30 },
      { codes: ['21440-3'] },
    ],
  },
  {
    for: 'thyroid',
    words: /thyrotropin|\btsh\b|thyroxine|triiodothyronine/i,
    percent: 10,
    tests: [
      { codes: ['3016-3', '11579-0', '11580-8'], percent: 25 },
      { codes: ['3024-7', '14920-3'] },
      { codes: ['3051-0'] },
      { codes: ['3026-2'] },
      { codes: ['3053-6'] },
      { codes: ['8099-4'], percent: 25 },
    ],
  },
  {
    for: 'inflammation',
    words: /c.reactive|\bcrp\b|sedimentation|procalcitonin|lactate/i,
    percent: 40,
    tests: [
      { codes: ['1988-5', '30522-7', '71426-1'] },
      { codes: ['4537-7', '30341-2'] },
      { codes: ['33959-8', '75241-0'] },
      { codes: ['2524-7', '32693-4'] },
    ],
  },
  {
    for: 'infections',
    words:
      /\bhiv\b|hepatitis|sars-cov|influenza|culture|tuberculosis|syphilis|chlamydia|gonorrh/i,
    percent: 30,
    tests: [
      { codes: ['20447-9'] },
      { codes: ['24467-3'] },
      { codes: ['56888-1', '75622-1', '48345-3'] },
      { codes: ['5195-3', '5196-1'] },
      { codes: ['11011-4'] },
      { codes: ['13955-0', '16128-1'] },
      { codes: ['94531-1', '94500-6', '94309-2', '94558-4'] },
      { codes: ['80382-5'] },
      { codes: ['80383-3'] },
      { codes: ['600-7'] },
      { codes: ['630-4'] },
      { codes: ['20507-0', '20508-8'] },
      { codes: ['43304-5', '21613-5'] },
      { codes: ['43305-2', '24111-7'] },
    ],
  },
  {
    for: 'drug levels and drugs of abuse',
    words:
      /digoxin|lithium|vancomycin|tacrolimus|c[iy]closporin|phenytoin|valproate|drugs of abuse|ethanol/i,
    percent: 15,
    tests: [
      { codes: ['10535-3'] },
      { codes: ['14334-7', '3719-2'] },
      { codes: ['20578-1', '4092-3'] },
      { codes: ['11253-2'] },
      { codes: ['3520-4'] },
      { codes: ['3968-5'] },
      { codes: ['4086-5'] },
      { codes: ['3432-2'] },
      { codes: ['65750-2'] },
      { codes: ['5640-8'] },
    ],
  },
  {
    for: 'iron, vitamins and hormones',
    words:
      /ferritin|iron\b|cobalamin|vitamin|folate|parathyrin|urate|gonadotropin/i,
    percent: 20,
    tests: [
      { codes: ['2276-4'] },
      { codes: ['2498-4'], percent: 35 },
      { codes: ['2502-3'], percent: 35 },
      { codes: ['2132-9'] },
      { codes: ['2284-8'] },
      { codes: ['1989-3', '62292-8'] },
      { codes: ['2731-8'] },
      { codes: ['3084-1'], percent: 12 },
      { codes: ['21198-7', '19080-1'] },
      { codes: ['2106-3', '2118-8'] },
      { codes: ['883-9'] },
      { codes: ['10331-7'] },
    ],
  },
  {
    for: 'gases of the blood',
    percent: 5,
    tests: [
      { codes: ['2744-1', '11558-4'], percent: 0.5 },
      { codes: ['2019-8'] },
      { codes: ['2703-7'], percent: 10 },
    ],
  },
  { for: 'all that this table does not name', percent: 5, tests: [] },
  {
    for: 'rest of the chemistry panel',
    isMinor: true,
    percent: 5,
    tests: [
      { codes: ['2028-9', '20565-8'], percent: 6 },
      { codes: ['2075-0', '2069-3'], percent: 2 },
      { codes: ['33037-3', '10466-1', '1863-0'], percent: 15 },
      { codes: ['2885-2'] },
      { codes: ['10834-0'], percent: 8 },
      { codes: ['2692-2'], percent: 2 },
    ],
  },
  {
    for: 'urine',
    isMinor: true,
    percent: 30,
    tests: [
      { codes: ['5794-3'] },
      { codes: ['5792-7'] },
      { codes: ['25428-4'] },
      { codes: ['2514-8'] },
      { codes: ['5797-6'] },
      { codes: ['5802-4'] },
      { codes: ['5799-2'] },
      { codes: ['5821-4'] },
      { codes: ['13945-1'] },
      { codes: ['5769-5'] },
      { codes: ['24124-0'] },
      { codes: ['20505-4'] },
      { codes: ['5770-3'] },
      { codes: ['5811-5', '2965-2'], percent: 0.5, digits: 4 },
      { codes: ['5803-2'], percent: 10 },
      { codes: ['20405-7', '13658-0'] },
      { codes: ['5787-7'] },
      { codes: ['8247-9'] },
    ],
  },
  {
    for: 'indices and differential of the blood count',
    isMinor: true,
    percent: 5,
    tests: [
      { codes: ['789-8'], percent: 4 },
      { codes: ['787-2'], percent: 2 },
      { codes: ['785-6'], percent: 2 },
      { codes: ['786-4'], percent: 2 },
      { codes: ['788-0', '21000-5', '30385-9'] },
      { codes: ['770-8'], percent: 15 },
      { codes: ['731-0', '736-9'], percent: 15 },
      { codes: ['742-7', '5905-5'], percent: 20 },
      { codes: ['711-2', '713-8'], percent: 30 },
      { codes: ['704-7', '706-2'], percent: 30 },
      { codes: ['32623-1'] },
      { codes: ['32207-3'], percent: 10 },
    ],
  },
  {
    for: 'odour, colour and clarity',
    isMinor: true,
    words: /\bodou?r\b|\bcolou?r\b|clarity|appearance/i,
    percent: 0,
    tests: [
      { codes: ['5767-9'] },
      { codes: ['32167-9'] },
      { codes: ['5778-6'] },
      { codes: ['34533-0'] },
    ],
  },
] satisfies readonly TestGroup[];

/** What page one knows of a test. */
export interface TestRank {
  /** Less is more important. */
  place: number;
  /** The same for all codes of one test; undefined if the table has none. */
  known?: string;
  percent: number;
  digits: number;
  isMinor: boolean;
}

const PLACES_OF_GROUP = 100;
const DIGITS = 3;
const ALL: readonly TestGroup[] = GROUPS;

const BY_CODE: Readonly<Record<string, TestRank>> = codeTable(
  Object.fromEntries(
    ALL.flatMap(({ tests, percent, isMinor = false }, group) =>
      tests.flatMap((test, index) =>
        test.codes.map((code) => [
          code,
          {
            place: group * PLACES_OF_GROUP + index,
            known: test.codes[0],
            percent: test.percent ?? percent,
            digits: test.digits ?? DIGITS,
            isMinor,
          },
        ]),
      ),
    ),
  ),
);

const UNKNOWN = ALL.findIndex(({ tests }) => tests.length === 0);

/**
 * How important a test is, by its LOINC codes, otherwise by the words of its
 * name; a test that neither tells stands between the groups.
 */
export function rankOfTest(codes: readonly string[], name: string): TestRank {
  const known = codes.map((code) => BY_CODE[code]).find(Boolean);
  if (known !== undefined) return known;

  const found = ALL.findIndex(({ words }) => words?.test(name) === true);
  const group = found === -1 ? UNKNOWN : found;
  return {
    // After those that the table names.
    place: group * PLACES_OF_GROUP + PLACES_OF_GROUP - 1,
    percent: ALL[group]?.percent ?? 0,
    digits: DIGITS,
    isMinor: ALL[group]?.isMinor ?? false,
  };
}
