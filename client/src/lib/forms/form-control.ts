// What stands behind the fields of a form, in one file that comes when a form is first touched.
export { zodResolver } from '@hookform/resolvers/zod'
export { createFormControl } from 'react-hook-form'
