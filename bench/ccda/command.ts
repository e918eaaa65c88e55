import { Command } from 'commander';
import { note, printJson } from '../command-parts.ts';
import { scoreEntries } from './entries.ts';
import { scoreNarrative } from './narrative.ts';
import { scorePairs } from './pairs.ts';

/**
 * Scores the conversion of C-CDA against material that is not part of this
 * repository.
 */
export const ccdaCommand = new Command('ccda')
  .description(
    'Score the conversion of C-CDA: pairs of HL7’s guide, and a second reading of foreign documents.\n' +
      'The folder has clones as <owner>+<name>: HL7+ccda-on-fhir, NurraHealth+ccda-to-fhir, HL7+C-CDA-Examples, jddamore+ccda-samples.',
  )
  .requiredOption('--folder <path>', 'folder with the clones')
  .option(
    '--converter <path>',
    'convert.ts of another checkout, to compare with',
  )
  .option('--differences', 'list every fact that is lost or changed', false)
  .option('--pairs-only', 'leave out the foreign documents', false)
  .option(
    '--narrative',
    'compare the page with the words of each document of the folder instead, by vendor',
    false,
  )
  .action(
    async (options: {
      folder: string;
      converter?: string;
      differences: boolean;
      pairsOnly: boolean;
      narrative: boolean;
    }) => {
      const path =
        options.converter ??
        '../../src/exchange/records/conversion/ccda-conversion.ts';
      const { convertDatedCcda } = (await import(
        path
      )) as typeof import('../../src/exchange/records/conversion/ccda-conversion.ts');
      const convert = (bytes: Uint8Array) =>
        convertDatedCcda(bytes, { unit: 'bench', patientId: 'p' });
      if (options.narrative) {
        printJson(await scoreNarrative(options.folder, convert));
        return;
      }
      const pairs = scorePairs(options.folder, convert, options.differences);
      const entries = options.pairsOnly
        ? undefined
        : scoreEntries(
            options.folder,
            convert,
            (line) => options.differences && note(line),
          );
      printJson({ pairs, entries });
    },
  );
