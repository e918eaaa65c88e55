import { Command } from 'commander';
import { median, note, printJson, whole } from '../command-parts.ts';
import { benchDocuments } from './run.ts';

export const documentsCommand = new Command('documents')
  .description(
    'C-CDA documents to html and pdf against the bare calls of the libraries',
  )
  .option('--rounds <n>', 'rounds', whole, 5)
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json, ...options }: { rounds: number; json?: true }) => {
    const documents = await benchDocuments(options, note);
    if (json === true) return printJson(documents);
    for (const format of ['html', 'pdf'] as const) {
      const oursMs = median(documents.map((each) => each[format].oursMs));
      const ratio = median(
        documents.map((each) => each[format].oursMs / each[format].bareMs),
      );
      process.stdout.write(
        `${format}: ${oursMs.toFixed(0)} ms a document, ${ratio.toFixed(2)} of the bare libraries'\n`,
      );
    }
  });
