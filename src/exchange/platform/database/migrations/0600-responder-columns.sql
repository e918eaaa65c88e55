-- A view has the columns that its table had when it was made: with that of 0551.
CREATE OR REPLACE VIEW responder.consent AS SELECT * FROM public.consent WHERE false;
