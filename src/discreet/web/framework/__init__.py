"""Framework of the application: routes, guard, context, rendering."""
