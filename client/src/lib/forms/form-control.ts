// The code behind the fields of a form, in one chunk that is loaded when a form is first used.
export { zodResolver } from '@hookform/resolvers/zod'
export { createFormControl } from 'react-hook-form'
