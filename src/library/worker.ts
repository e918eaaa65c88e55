/**
 * For workers and clients of your own: a plugin for the SDK's `Worker`,
 * `Client` and bundler.
 */

export {
  type ExchangeOptions,
  ExchangePlugin,
  type ExchangePluginOptions,
} from '../worker/plugin.ts';
